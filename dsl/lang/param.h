// A number of a mask or score that is given at launch: one compiled kernel serves every value of it.
//
//   Param<i32> left{"left", 128};                              // a name, and the value where a call gives none
//   Mask band = [left](Position q, Position k) { return q - k <= left; };
//
// A captured C++ int is a constant instead: it is part of the kernel.
#pragma once

#include <string>
#include <utility>

#include <tessera/dsl/lang/expression.h>

namespace tessera {

template <DType T>
class Param : public NoBranch<Param<T>> {
  static_assert(T == i32 || T == f32, "a Param is i32 or f32");
  using Number = std::conditional_t<T == i32, int, double>;

 public:
  using axes = Axes<>;
  static constexpr DType dtype = T;
  using bound_value = void;

  // The kernel's parameter bears the name: letters, digits and underscores. f32: the value is finite.
  Param(std::string name, Number value, SourceLoc loc = SourceLoc::here()) : name_(std::move(name)), value_(value) {
    detail::check_name("a Param", name_, loc);
    if constexpr (T == f32) detail::check_param_value(name_, value_, loc);
  }
  const std::string& name() const { return name_; }
  Number value() const { return value_; }
  detail::Handle lower(SourceLoc loc) const { return detail::scalar(name_, T, value_, loc); }

 private:
  std::string name_;
  Number value_;
};

}  // namespace tessera
