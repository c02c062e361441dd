// What is refused of tiles in token orders.
#include <doctest/doctest.h>

#include <tessera/library/attention.h>
#include <tessera/library/ordered_view.h>

#include "library/order_programs.h"
#include "support/refusal.h"

using namespace tessera;
using namespace tessera::test;

namespace {

std::string refused(const mask::Order& queries, const mask::Order& keys) {
  return refusal_in(programs::kFile, [&] {
    Program program(programs::pool.trace(full),
                    {.whole = {{"Depth", 64}, {"Value", 64}},
                     .plan_maker = programs::lists(queries, keys, [](auto, auto) { return true; })});
    program.check();
  });
}

// Of a tensor map of k, [head, key, depth], whose tiles have three dimensions.
std::string refused_map(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
  const backend::Slot slot{.kind = backend::SlotKind::tensor_map,
                           .param = 0,
                           .columns = 64,
                           .rows = 64,
                           .digits = {{64, 4}, {8, 4}, {1, 4}}};
  ir::Kernel kernel;
  kernel.params = {{"k", ir::ParamKind::input, DType::bf16, {ir::Axis::named("Key"), ir::Axis::named("Depth")}, 2}};
  try {
    library::OrderedView(slot, kernel, View{nullptr, DType::bf16, std::move(shape), std::move(strides)}).map();
  } catch (const UserError& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace

TEST_CASE("tiles for products along the last axis of their tensor") {
  CHECK(refused(mask::Order::identity(64), {{{4, 32}, {1, 1}}}) ==
        "error: tiles of 'k' for products are cut along its last axis, Key, in a token order; note: store it with Key "
        "before its other axis");
}

TEST_CASE("boxes of more dimensions than a copy takes") {
  CHECK(refused({{{64, 4}, {16, 2}, {4, 2}, {1, 4}}}, mask::Order::identity(64)) ==
        "error: tiles in order [64:4, 16:2, 4:2, 1:4] have several values of 4 digits; note: a copy takes boxes of at "
        "most 3 dimensions");
}

TEST_CASE("strides that the offsets of a map cannot count") {
  CHECK(refused_map({2, 2, 512, 64}, {1 << 20, 65536 + 4, 64, 1}) ==
        "error: k has a stride of 131080 bytes, not a multiple of 16 that goes forward; note: pad its rows to a "
        "multiple of 8 elements");
  CHECK(refused_map({2, 2, 512, 64}, {-(1 << 20), 65536, 64, 1}) ==
        "error: k has a stride of -2097152 bytes, not a multiple of 16 that goes forward; note: pad its rows to a "
        "multiple of 8 elements");
  const std::int64_t far = std::int64_t{1} << 35;
  CHECK(
      refused_map({2, 2, 512, 64}, {far, 65544, 64, 1}) ==
      "error: k reaches over 4294975489 steps of 16 bytes, above the limit of 2^31 - 1; note: split the call, or make "
      "the strides multiples of a larger power of two");
}
