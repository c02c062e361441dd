// The programs of support/program_cases.h on the GPU.
#include "support/program_cases.h"

#include "gpu/device_case.h"

using namespace tessera;
using namespace tessera::test;

TEST_CASE("a row reduction, at lengths that no tile divides") {
  for (std::int64_t rows : {1, 15, 16, 100}) programs::check_row_norm(OnDevice(), rows);
}

TEST_CASE("a fused elementwise program") {
  for (std::int64_t rows : {1, 33, 200}) programs::check_gated(OnDevice(), rows);
}

TEST_CASE("a row softmax over a width that no tile has") {
  for (std::int64_t width : {8, 40, 100, 250}) programs::check_row_softmax(OnDevice(), width);
}

TEST_CASE("a reduction over the axis that warps divide") { programs::check_column_sums(OnDevice()); }

TEST_CASE("a matrix product") {
  for (auto [m, n, k] : {std::tuple{64, 64, 64}, {200, 136, 520}, {1, 8, 16}, {300, 264, 72}})
    programs::check_product(OnDevice(), m, n, k, {{"Row", 128}, {"Column", 128}, {"Inner", 64}});
}
