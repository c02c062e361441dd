// Merging on the GPU: many parts by one kernel and by groups, against the loop on the host, which sums in f64.
#include <algorithm>
#include <cmath>
#include <memory>

#include <doctest/doctest.h>

#include <tessera/library/merge.h>

#include "gpu/device_case.h"

using namespace tessera;
using namespace tessera::test;

namespace {

struct Part {
  TestTensor o, lse;
  Part(DType dtype, std::int64_t columns) : o(dtype, {2, 3, 131, columns}), lse(DType::f32, {2, 3, 131}) {
    o.poison();
    lse.poison();
  }
  Partial partial() const { return {o.view(), lse.view()}; }
};
struct DevicePart {
  DeviceTensor o, lse;
  explicit DevicePart(const Part& part) : o(part.o), lse(part.lse) {}
  Partial partial() const { return {o.view(), lse.view()}; }
};

// Every third part is in f32, every fourth has no live key in row 7 and NaN there, as what is never written has.
Part part_at(std::size_t i, DType dtype, std::int64_t columns) {
  Part part(i % 3 == 2 ? DType::f32 : dtype, columns);
  part.o.fill_normal(1000 + 2 * i);
  part.lse.fill_normal(1001 + 2 * i, 5);
  if (i % 4 != 3) return part;
  part.lse.set({1, 2, 7}, -INFINITY);
  for (std::int64_t d = 0; d < columns; ++d) part.o.set({1, 2, 7, d}, NAN);
  return part;
}

}  // namespace

TEST_CASE("parts merge to what the host makes of them, rounded once") {
  for (const auto& [dtype, columns] :
       {std::pair{DType::bf16, 64}, {DType::f16, 128}, {DType::f32, 256}, {DType::bf16, 40}}) {
    for (std::size_t count : {2, 3, 8, 9, 20}) {
      CAPTURE(count);
      CAPTURE(columns);
      std::vector<Part> parts;
      std::vector<std::unique_ptr<DevicePart>> copies;
      std::vector<Partial> here, there;
      for (std::size_t i = 0; i < count; ++i) {
        parts.push_back(part_at(i, dtype, columns));
        copies.push_back(std::make_unique<DevicePart>(parts.back()));
        there.push_back(copies.back()->partial());
      }
      for (const Part& part : parts) here.push_back(part.partial());
      Part expected(DType::f32, columns), out(dtype, columns);
      merge(here, expected.partial());
      DevicePart result(out);
      merge(there, result.partial());
      test_device().synchronize();
      result.o.download(out.o);
      result.lse.download(out.lse);
      // Half a unit in the last place, and what sums in f32 lose.
      const double half = dtype == DType::f32 ? 0x1p-24 : dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
      const std::vector<double> got = out.o.values(), exact = expected.o.values();
      double excess = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const double error = std::fabs(got[i] - exact[i]) - half * std::fabs(exact[i]);
        excess = std::isnan(error) ? INFINITY : std::max(excess, error);
      }
      CHECK(excess <= 2e-6);
      CHECK(max_difference(out.lse.values(), expected.lse.values()) <= 1e-5);
      CHECK(out.o.guards_intact());
      CHECK(out.lse.guards_intact());
    }
  }
}
