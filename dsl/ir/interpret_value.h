// The tiles that an interpreted kernel computes with.
//
// A tile is a strided window on shared storage that nobody writes once its maker has handed it on; copying one copies a
// pointer. Stride 0 along an axis repeats the elements, so constants and broadcasts cost nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera::ir::interp {

// How elements are held: f16, bf16 and f32 as float (16-bit ones already rounded), i32 and i1 (0 or 1) as int32.
template <DType t>
using Held = std::conditional_t<t == DType::i1 || t == DType::i32, std::int32_t, float>;

class Tile {
 public:
  Tile() = default;
  Tile(DType dtype, std::vector<Dim> dims);  // contiguous, last dim fastest; elements not initialised
  static Tile number(DType dtype, double value, std::vector<Dim> dims = {});  // the same everywhere
  static Tile integer(std::int64_t value) { return number(DType::i32, static_cast<double>(value)); }

  DType dtype() const { return dtype_; }
  bool holds_floats() const { return is_float(dtype_); }
  const std::vector<Dim>& dims() const { return dims_; }
  std::int64_t stride(std::size_t dim) const { return strides_[dim]; }
  std::int64_t stride(Axis axis) const;  // 0 for an axis the tile lacks
  const Dim* find(Axis axis) const;
  std::int64_t elements() const;
  bool contiguous() const;

  // T is float or int32, as Held says. Writing is for the maker only.
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(storage_ ? storage_.get() : &one_);
  }
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(storage_ ? storage_.get() : &one_);
  }
  std::int32_t integer() const { return data<std::int32_t>()[0]; }  // of a scalar i32 or i1

  // The same elements with these dims: axes may be permuted, those the tile lacks repeat it. Copies nothing.
  Tile repeated(const std::vector<Dim>& dims) const;
  // `extent` elements from `start` on along `axis`. Copies nothing.
  Tile part(Axis axis, int start, int extent) const;
  // The same elements in contiguous storage with the axes in this order; itself if it already is that.
  Tile packed(const std::vector<Dim>& dims) const;

 private:
  union Element {
    float number;
    std::int32_t integer;
  };

  DType dtype_ = DType::i32;
  std::vector<Dim> dims_;
  std::vector<std::int64_t> strides_;
  std::shared_ptr<Element> storage_;  // null: `one_` is the only element
  Element one_{};
};

}  // namespace tessera::ir::interp
