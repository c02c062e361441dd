#include <doctest/doctest.h>

#include <tessera/backend/emit/memory_plan.h>
#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/slots.h>

#include "backend/emit/kernels.h"

namespace tessera::test {

TEST_CASE("tiles start at swizzle atoms and nothing overlaps") {
  const ir::Kernel kernel = forward(128);
  const backend::MemoryPlan plan = backend::plan_memory(kernel);
  std::vector<bool> used(static_cast<std::size_t>(plan.total), false);
  for (const auto& [id, ring] : plan.rings) {
    const bool tile = kernel.type(ir::Value{id}).kind == ir::TypeKind::shared;
    CHECK(ring.offset % (tile ? 1024 : 8) == 0);
    for (int i = ring.offset; i < ring.offset + ring.stages * ring.stage_bytes; ++i) {
      REQUIRE(i < plan.total);
      REQUIRE(!used[static_cast<std::size_t>(i)]);
      used[static_cast<std::size_t>(i)] = true;
    }
  }
  CHECK(plan.rings.size() == 8);
  CHECK(plan.barriers.size() == 5);
  CHECK(plan.total == 5 * 32768 + 9 * 8);
}

TEST_CASE("boxes are at most 256 rows and divide the tile") {
  CHECK(backend::box_rows(8) == 8);
  CHECK(backend::box_rows(256) == 256);
  CHECK(backend::box_rows(384) == 192);
  CHECK(backend::box_rows(80) == 80);
}

TEST_CASE("an operand's register is the one with the result's coordinates") {
  const ir::Axis row = ir::Axis::named("Row"), column = ir::Axis::named("Column");
  const auto layout = std::make_shared<const ir::Layout>(backend::product_layout(row, column, 80));
  ir::Type whole = ir::Type::tile(DType::f32, {{row, 64}, {column, 80}});
  whole.layout = layout;
  ir::Type statistic = ir::Type::tile(DType::f32, {{row, 64}});
  statistic.layout = std::make_shared<const ir::Layout>(layout->slice(column));
  const std::vector<int> map = backend::register_map(whole, statistic);
  REQUIRE(map.size() == 40);
  for (int r = 0; r < 40; ++r) CHECK(map[static_cast<std::size_t>(r)] == (r >> 1 & 1));
  CHECK(backend::thread_part_alignment(*layout, column) == 2);
  CHECK(backend::thread_part_max(*layout, row) == 48 + 7);
  CHECK(backend::thread_part_max(*layout, column) == 6);
}

TEST_CASE("an operand in other threads is refused") {
  const ir::Axis row = ir::Axis::named("Row"), column = ir::Axis::named("Column");
  ir::Type whole = ir::Type::tile(DType::f32, {{row, 64}, {column, 64}}), other = whole;
  whole.layout = std::make_shared<const ir::Layout>(backend::product_layout(row, column, 64));
  other.layout =
      std::make_shared<const ir::Layout>(ir::Layout({{2, column, 32}, {16, row, 4}}, {{32, column, 1}}, {{4, row, 1}}));
  CHECK_FALSE(backend::same_threads(whole, other));
  CHECK_THROWS_AS(backend::register_map(whole, other), InternalError);
}

}  // namespace tessera::test
