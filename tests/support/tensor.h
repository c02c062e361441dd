// Test tensors: strided windows on memory with guards around it, so that a test sees every byte that should not change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tessera/dsl/ir/arguments.h>

namespace tessera::test {

struct TensorOptions {
  std::int64_t row_padding = 0;  // elements between the rows of the last-but-one dim
  std::int64_t guard_rows = 2;   // before the first element and after the last
  std::vector<int> order = {};   // memory order of the dims, outermost first; empty: as in the shape
};

// What guards and padding hold: a NaN in every float type, an index far out of range as i32.
class TestTensor {
 public:
  TestTensor(DType dtype, std::vector<std::int64_t> shape, TensorOptions options = {});

  const View& view() const { return view_; }
  DType dtype() const { return view_.dtype; }
  const std::vector<std::int64_t>& shape() const { return view_.shape; }
  std::int64_t elements() const { return view_.elements(); }

  float at(std::vector<std::int64_t> index) const;
  void set(std::vector<std::int64_t> index, double value);
  void fill(double value);
  void fill_normal(std::uint64_t seed, double scale = 1);  // rounded to the dtype
  void poison() { fill(poison_value()); }
  std::span<std::byte> memory() { return {base_, bytes()}; }  // all of it, guards included
  std::span<const std::byte> memory() const { return {base_, bytes()}; }
  bool guards_intact() const;  // no byte outside the view has changed

  std::int64_t offset(const std::vector<std::int64_t>& index) const;
  std::vector<double> values() const;  // in the order of the shape

 private:
  static double poison_value();
  std::size_t bytes() const { return static_cast<std::size_t>(allocated_ * bytes_of(view_.dtype)); }
  std::vector<bool> inside() const;

  std::vector<std::byte> memory_;  // 16-byte aligned by over-allocation
  std::int64_t first_ = 0;         // element of memory that the view starts at
  std::byte* base_ = nullptr;
  std::int64_t allocated_ = 0;       // elements from base_ on
  std::vector<std::byte> pristine_;  // memory as it was made
  View view_;
};

// Where the checks that run on any memory (library/acsr/acsr_case.h, support/program_cases.h) have their tensors: on
// the interpreter, where they are. gpu/device_case.h has the other.
struct OnHost {
  View operator()(TestTensor& tensor) const { return tensor.view(); }
  void finish() const {}
};

// Next index of a shape in row-major order; false after the last.
bool next_index(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& shape);

}  // namespace tessera::test
