// A program outside the project, built on the installation alone: attention under masks whose result is known, a kernel
// of its own, a refusal. What is not exported or not installed does not link or compile here.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <tessera/tessera.h>

using namespace tessera;

namespace {

constexpr std::int64_t kTokens = 200, kDim = 64;
constexpr std::uint16_t kOne = 0x3f80, kThree = 0x4040;  // bf16

int fail(const char* what) {
  std::printf("wrong: %s\n", what);
  return 1;
}

TESSERA_AXIS(Row);
TESSERA_AXIS(Column);

template <class Stage>
struct NormArgs {
  TESSERA_STRUCT(NormArgs, (In<Stage, f32, Row, Column>, x), (Out<Stage, f32, Row>, y), (Scalar<Stage, f32>, factor));
};

const auto row_norm = kernel("row_norm", grid<Row>, [](NormArgs<traced> a) {
  Tile<f32, Row, Column> x = load(a.x);
  store(a.y, sqrt(reduce_sum<Column>(x * x)) * a.factor);
});

bool norms_are_right() {
  std::vector<float> x(100 * 24), y(100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i / 24);
  Program program(row_norm.trace(), {.tiles = {{"Row", 16}}, .whole = {{"Column", 24}}});
  program(NormArgs<bound>{
      .x = View::contiguous(x.data(), f32, {100, 24}), .y = View::contiguous(y.data(), f32, {100}), .factor = 3});
  for (std::size_t i = 0; i < y.size(); ++i)
    if (std::abs(y[i] - 3 * std::sqrt(24.0) * static_cast<double>(i)) > 1e-2) return false;
  return true;
}

}  // namespace

int main() {
  std::vector<std::uint16_t> q(kTokens * kDim, 0), k(q), v(q), o(q);
  for (std::int64_t i = 0; i < kTokens * kDim; ++i) v[i] = i / kDim % 2 == 0 ? kOne : kThree;
  const auto view = [](std::vector<std::uint16_t>& x) {
    return View::contiguous(x.data(), bf16, {1, 1, kTokens, kDim});
  };
  std::vector<float> lse(kTokens);

  Table doc(document_ids({100, 100}));
  Mask pairs = [doc](Position q, Position k) { return k <= q && q - k < 2 && doc[q] == doc[k]; };
  Attention attend({.mask = pairs & (causal | sinks(4)), .dtype = bf16, .head_dim = kDim});
  attend({.q = view(q),
          .k = view(k),
          .v = view(v),
          .o = view(o),
          .lse = View::contiguous(lse.data(), f32, {1, 1, kTokens})});

  for (std::int64_t i = 0; i < kTokens; ++i) {
    const bool first = i % 100 == 0;  // of its document: sees itself alone
    if (o[i * kDim] != (first ? kOne : 0x4000)) return fail("output");
    if (std::abs(lse[i] - (first ? 0 : std::log(2))) > 1e-6) return fail("log-sum-exp");
  }
  if (attend.ptx().find("wgmma") == std::string::npos) return fail("PTX");
  std::puts(attend.explain().c_str());
  if (!norms_are_right()) return fail("a kernel of one's own");

  try {
    attend({.q = view(q), .k = view(k), .v = view(v), .o = View::contiguous(o.data(), bf16, {1, 1, kTokens, 32})});
    return fail("a wrong shape was accepted");
  } catch (const UserError& error) {
    std::puts(error.what());
  }
}
