// Merging partial results: the program, and the loop on the host, against attention over all keys.
#include <tessera/library/merge.h>

#include <bit>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/fold.h>
#include <tessera/dsl/ir/interpret.h>
#include <tessera/library/planned.h>

#include "library/attention_case.h"

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Part {
  TestTensor o, lse;
  Part(DType dtype, std::int64_t rows, std::int64_t columns)
      : o(dtype, {1, 2, rows, columns}), lse(DType::f32, {1, 2, rows}) {
    o.poison();
    lse.poison();
  }
  Partial partial() const { return {o.view(), lse.view()}; }
};

Part random_part(DType dtype, std::uint64_t seed) {
  Part part(dtype, 37, 24);
  part.o.fill_normal(seed);
  part.lse.fill_normal(seed + 1, 5);
  return part;
}
Part empty_part(DType dtype) {
  Part part(dtype, 37, 24);  // O stays NaN
  part.lse.fill(-kInfinity);
  return part;
}

// The ways that parts are merged: the library's loop, and the program on the interpreter, as it is tiled and as it is
// placed for a GPU.
using Parts = std::vector<const Part*>;
using Merge = void (*)(const Parts&, Part&);
std::vector<Partial> partials(const Parts& parts) {
  std::vector<Partial> all;
  for (const Part* part : parts) all.push_back(part->partial());
  return all;
}
void by_library(const Parts& parts, Part& out) { merge(partials(parts), out.partial()); }
ir::Kernel tiled_for(const Parts& parts, const Part& out) {
  const int count = static_cast<int>(parts.size());
  int wide = 0;
  while (wide < count && parts[wide]->o.dtype() == DType::f32) ++wide;
  const bool narrow = out.o.dtype() == DType::bf16;
  Traced traced =
      wide < count ? narrow ? merge_program.trace<bf16, bf16>(count, wide) : merge_program.trace<bf16, f32>(count, wide)
      : narrow     ? merge_program.trace<f32, bf16>(count, 0)
                   : merge_program.trace<f32, f32>(count, 0);
  passes::Tiling tiling{.tiles = {{ir::Axis::named("Query"), 16}}, .whole = {{ir::Axis::named("Value"), 24}}};
  return library::make_planned(library::plannable(std::move(traced), std::move(tiling)), {})->only().tiled;
}
void run(const ir::Kernel& kernel, const Parts& parts, Part& out) {
  std::vector<ir::Argument> arguments;
  for (const Part* part : parts) arguments.insert(arguments.end(), {part->o.view(), part->lse.view()});
  arguments.insert(arguments.end(), {out.o.view(), out.lse.view()});
  ir::interpret(kernel, ir::bind(kernel, std::move(arguments)));
}
void by_program(const Parts& parts, Part& out) { run(tiled_for(parts, out), parts, out); }
void by_placed(const Parts& parts, Part& out) {
  run(backend::place(tiled_for(parts, out), backend::target_named("sm_90a"), {}), parts, out);
}

// How much farther the merged O is from the exact one than that one rounded to bf16 is.
double excess(const Parts& parts, const Part& out) {
  double most = 0;
  std::vector<std::int64_t> at(4, 0);
  do {
    const std::vector<std::int64_t> row(at.begin(), at.end() - 1);
    double top = -kInfinity, sum = 0, exact = 0;
    for (const Part* part : parts) top = std::max<double>(top, part->lse.at(row));
    for (const Part* part : parts) {
      const double weight = std::exp(part->lse.at(row) - top);
      sum += weight, exact += weight * part->o.at(at);
    }
    exact /= sum;
    const double rounding = std::fabs(ir::round_to(DType::bf16, exact) - exact);
    most = std::max(most, std::fabs(out.o.at(at) - exact) - rounding);
  } while (next_index(at, out.o.shape()));
  return most;
}

bool same_bits(const TestTensor& a, const TestTensor& b) {
  std::vector<double> x = a.values(), y = b.values();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::bit_cast<std::uint64_t>(x[i]) != std::bit_cast<std::uint64_t>(y[i])) return false;
  }
  return x.size() == y.size();
}

}  // namespace

TEST_CASE("merging with an empty part gives the other, bit for bit, and two give an empty one (B02)") {
  for (DType dtype : {DType::f32, DType::bf16}) {
    for (Merge merge_two : {by_library, by_program, by_placed}) {
      Part some = random_part(dtype, 3), none = empty_part(dtype), also_none = empty_part(dtype);
      some.o.set({0, 0, 0, 0}, -0.0);
      Part out(dtype, 37, 24);
      merge_two({&some, &none}, out);
      CHECK(same_bits(out.o, some.o));
      CHECK(same_bits(out.lse, some.lse));
      merge_two({&none, &some}, out);
      CHECK(same_bits(out.o, some.o));
      CHECK(same_bits(out.lse, some.lse));
      merge_two({&none, &also_none}, out);
      for (double x : out.o.values()) CHECK(x == 0);
      for (double x : out.lse.values()) CHECK(x == -kInfinity);
      CHECK(out.o.guards_intact());
      CHECK(out.lse.guards_intact());
    }
  }
}

TEST_CASE("the program and the loop agree") {
  Part a = random_part(DType::f32, 5), b = random_part(DType::f32, 9);
  Part x(DType::f32, 37, 24), y(DType::f32, 37, 24);
  by_library({&a, &b}, x);
  by_program({&a, &b}, y);
  CHECK(max_difference(x.o.values(), y.o.values()) < 1e-6);
  CHECK(max_difference(x.lse.values(), y.lse.values()) < 1e-5);
}

TEST_CASE("an empty part among many counts for nothing, wherever it stands") {
  Part a = random_part(DType::bf16, 21), b = random_part(DType::bf16, 23), none = empty_part(DType::bf16);
  Part expected(DType::bf16, 37, 24);
  for (Merge merge_some : {by_library, by_program, by_placed}) {
    merge_some({&a, &b}, expected);
    for (const Parts& parts : {Parts{&none, &a, &b}, Parts{&a, &none, &b}, Parts{&a, &b, &none, &none}}) {
      Part out(DType::bf16, 37, 24);
      merge_some(parts, out);
      CHECK(same_bits(out.o, expected.o));
      CHECK(same_bits(out.lse, expected.lse));
    }
    a.o.set({0, 1, 5, 7}, -0.0);
    Part out(DType::bf16, 37, 24);
    merge_some({&none, &a, &none}, out);
    CHECK(same_bits(out.o, a.o));
  }
}

TEST_CASE("O is rounded once, however many parts there are") {
  constexpr double kNoise = 1e-6;  // of sums in f32
  std::vector<Part> all;
  for (std::uint64_t i = 0; i < kMergedAtOnce; ++i) all.push_back(random_part(DType::bf16, 100 + 2 * i));
  for (std::size_t count : {2, 3, kMergedAtOnce}) {
    CAPTURE(count);
    Parts parts;
    for (std::size_t i = 0; i < count; ++i) parts.push_back(&all[i]);
    for (Merge merge_all : {by_library, by_program, by_placed}) {
      Part out(DType::bf16, 37, 24);
      merge_all(parts, out);
      CHECK(excess(parts, out) <= kNoise);
      // A chain, with its running O in f32: as good. In bf16 it rounds at every step.
      std::vector<Part> wide, narrow;
      for (std::size_t i = 0; i < count; ++i) {
        wide.emplace_back(DType::f32, 37, 24);
        narrow.emplace_back(DType::bf16, 37, 24);
      }
      const Part* last[] = {parts[0], parts[0]};
      for (std::size_t i = 1; i < count; ++i) {
        Part& next = i + 1 < count ? wide[i] : out;
        merge_all({last[0], parts[i]}, next);
        merge_all({last[1], parts[i]}, narrow[i]);
        last[0] = &next, last[1] = &narrow[i];
      }
      CHECK(excess(parts, out) <= kNoise);
      if (count > 2) CHECK(excess(parts, narrow.back()) > 1000 * kNoise);
    }
  }
}

TEST_CASE("parts of the keys merge to the whole, in nats: COUNT probe of 1000 keys (B60)") {
  constexpr std::int64_t n = 1000;
  for (std::int64_t parts : {2, 5}) {
    Case c{.heads = 2, .kv_heads = 2, .queries = 1, .keys = n, .depth = 8};
    std::vector<Part> results;
    std::vector<Partial> views;
    for (std::int64_t p = 0; p < parts; ++p) results.emplace_back(DType::bf16, 1, 8);
    for (std::int64_t p = 0; p < parts; ++p) {
      c.mask = [from = static_cast<int>(p * n / parts), to = static_cast<int>((p + 1) * n / parts)](
                   Position, Position k) { return k >= from && k < to; };
      Tensors t(c);
      t.q.fill(0);
      t.v.fill(1);
      AttentionCall call = t.call(c);
      call.o = results[p].o.view();
      call.lse = results[p].lse.view();
      Attention(options_of(c))(call);
      views.push_back(results[p].partial());
    }
    Part out(DType::bf16, 1, 8);
    merge(views, out.partial());
    for (double x : out.lse.values()) CHECK(x == doctest::Approx(6.907755).epsilon(1e-6));
    for (double x : out.o.values()) CHECK(x == 1);
  }
}

TEST_CASE("a window and its complement merge to dense attention (B05)") {
  Case c{.heads = 2, .kv_heads = 2, .queries = 300, .keys = 300, .depth = 32};
  Mask near = [](Position q, Position k) { return abs(q - k) <= 256; };
  Tensors whole(c);
  Result exact = attention_fp64(whole.problem(c));
  Tolerance allowed = tolerance(whole.problem(c), exact);
  Part a(DType::bf16, 300, 32), b(DType::bf16, 300, 32), out(DType::bf16, 300, 32);
  for (auto [mask, part] : {std::pair{near, &a}, {~near, &b}}) {
    c.mask = mask;
    AttentionCall call = whole.call(c);
    call.o = part->o.view();
    call.lse = part->lse.view();
    Attention(options_of(c))(call);
  }
  merge({a.partial(), b.partial()}, out.partial());
  CHECK(max_difference(out.o.values(), exact.o) <= 2 * allowed.o);  // outputs are rounded twice
  CHECK(max_difference(out.lse.values(), exact.lse) <= allowed.lse);
}

TEST_CASE("a sink as a part with O = 0 counts once in the denominator (B62)") {
  for (double sink : {-kInfinity, 0.0, 100.0}) {
    Part part = random_part(DType::f32, 11), none(DType::f32, 37, 24), out(DType::f32, 37, 24);
    none.o.fill(0);
    none.lse.fill(sink);
    merge({part.partial(), none.partial()}, out.partial());
    for (std::int64_t q = 0; q < 37; ++q) {
      double lse = part.lse.at({0, 1, q}), total = std::log(std::exp(lse) + std::exp(sink));
      CHECK(out.lse.at({0, 1, q}) == doctest::Approx(total).epsilon(1e-6));
      CHECK(out.o.at({0, 1, q, 5}) == doctest::Approx(part.o.at({0, 1, q, 5}) * std::exp(lse - total)).epsilon(1e-5));
    }
  }
}
