#include "support/tensor.h"

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>

#include <tessera/dsl/ir/interpret.h>

namespace tessera::test {

namespace {

constexpr std::int64_t kAlignment = 128;

void write(void* memory, DType dtype, std::int64_t index, double value) {
  if (dtype == DType::i32) {
    static_cast<std::int32_t*>(memory)[index] = std::isnan(value) ? 0x7f7f7f7f : static_cast<std::int32_t>(value);
  } else {
    ir::store_element(memory, dtype, index, static_cast<float>(value));
  }
}

}  // namespace

bool next_index(std::vector<std::int64_t>& index, const std::vector<std::int64_t>& shape) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

double TestTensor::poison_value() { return std::nan(""); }

TestTensor::TestTensor(DType dtype, std::vector<std::int64_t> shape, TensorOptions options) {
  std::size_t rank = shape.size();
  if (options.order.empty()) {
    options.order.resize(rank);
    std::iota(options.order.begin(), options.order.end(), 0);
  }
  view_ = View::contiguous(nullptr, dtype, shape, Memory::host);
  view_.strides.assign(rank, 1);
  std::int64_t stride = 1;
  for (std::size_t i = rank; i-- > 0;) {
    auto dim = static_cast<std::size_t>(options.order[i]);
    view_.strides[dim] = stride;
    stride *= shape[dim];
    if (i + 1 == rank) stride += options.row_padding;
  }
  std::int64_t row = rank ? view_.shape.back() + options.row_padding : 1;
  std::int64_t unit = kAlignment / bytes_of(dtype);
  first_ = (options.guard_rows * row + unit - 1) / unit * unit;
  allocated_ = first_ + std::max<std::int64_t>(stride, 1) + options.guard_rows * row;

  memory_.resize(static_cast<std::size_t>(allocated_ * bytes_of(dtype) + kAlignment));
  auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  base_ = memory_.data() + (kAlignment - address % kAlignment) % kAlignment;
  for (std::int64_t i = 0; i < allocated_; ++i) write(base_, dtype, i, poison_value());
  pristine_ = memory_;
  view_.data = base_ + first_ * bytes_of(dtype);
}

std::int64_t TestTensor::offset(const std::vector<std::int64_t>& index) const {
  if (index.size() != view_.shape.size()) throw std::logic_error("index has the wrong rank");
  std::int64_t at = 0;
  for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * view_.strides[d];
  return at;
}

float TestTensor::at(std::vector<std::int64_t> index) const {
  std::int64_t i = offset(index);
  if (view_.dtype == DType::i32) return static_cast<float>(static_cast<const std::int32_t*>(view_.data)[i]);
  return ir::load_element(view_.data, view_.dtype, i);
}

void TestTensor::set(std::vector<std::int64_t> index, double value) {
  write(view_.data, view_.dtype, offset(index), value);
}

void TestTensor::fill(double value) {
  if (elements() == 0) return;
  std::vector<std::int64_t> index(view_.shape.size(), 0);
  do set(index, value);
  while (next_index(index, view_.shape));
}

void TestTensor::fill_normal(std::uint64_t seed, double scale) {
  if (elements() == 0) return;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scale);
  std::vector<std::int64_t> index(view_.shape.size(), 0);
  do set(index, normal(random));
  while (next_index(index, view_.shape));
}

std::vector<bool> TestTensor::inside() const {
  std::vector<bool> result(static_cast<std::size_t>(allocated_), false);
  if (elements() == 0) return result;
  std::vector<std::int64_t> index(view_.shape.size(), 0);
  do result[static_cast<std::size_t>(first_ + offset(index))] = true;
  while (next_index(index, view_.shape));
  return result;
}

bool TestTensor::guards_intact() const {
  std::vector<bool> in = inside();
  auto size = static_cast<std::size_t>(bytes_of(view_.dtype));
  std::size_t shift = static_cast<std::size_t>(base_ - memory_.data());
  for (std::size_t i = 0; i < in.size(); ++i) {
    std::size_t at = shift + i * size;
    if (!in[i] && std::memcmp(memory_.data() + at, pristine_.data() + at, size) != 0) return false;
  }
  return true;
}

std::vector<double> TestTensor::values() const {
  std::vector<double> result;
  if (elements() == 0) return result;
  std::vector<std::int64_t> index(view_.shape.size(), 0);
  do result.push_back(at(index));
  while (next_index(index, view_.shape));
  return result;
}

}  // namespace tessera::test
