// A Tile is a bound value: it has a name in the IR, may be used any number of times, and copies like an int. Its axes
// are part of its type; a Tile with no axes is a scalar, the same for the whole tile.
//
// A Tile variable may be assigned again (x = x + y, x += y); that is C++ naming, not a kernel's memory. What is to
// change from trip to trip of a loop is carried state (control.h), and a Tile that leaves its loop otherwise is
// refused.
#pragma once

#include <tessera/dsl/lang/expression.h>

namespace tessera {

namespace check {
template <DType From, DType To>
struct BindsDtype {
  static_assert(From == To,
                "this expression has another dtype than the Tile it is bound to: cast it, as in cast<f32>(x)");
  static constexpr bool ok = true;
};
template <class From, class To>
struct BindsAxes {
  static_assert(detail::same_axes<From, To>, "this expression has other axes than the Tile it is bound to");
  static constexpr bool ok = true;
};
template <class From, class To>
struct FitsAxes {
  static_assert(detail::subset<From, To>, "the right side has axes that the Tile on the left does not have");
  static constexpr bool ok = true;
};
}  // namespace check

template <DType T, class... A>
class Tile : public NoBranch<Tile<T, A...>> {
  static_assert(detail::distinct<Axes<A...>>, "the axes of a Tile are different from each other");

  // The right side of x += y: takes any operand, and with it the line it was written on.
  struct Right {
    detail::Handle handle;
    SourceLoc loc;
    template <class E>
      requires detail::Operand<E>
    Right(E&& e, SourceLoc at = SourceLoc::here()) : loc(at) {
      static_assert(check::UsedOnce<E>::ok);
      auto x = detail::operand<T>(e);
      static_assert(check::SameDtype<T, decltype(x)::dtype>::ok);
      static_assert(check::FitsAxes<typename decltype(x)::axes, Axes<A...>>::ok);
      handle = x.lower(loc);
    }
  };

 public:
  using axes = Axes<A...>;
  static constexpr DType dtype = T;
  using bound_value = void;

  template <class N>
    requires detail::Number<N>
  Tile(N number, SourceLoc loc = SourceLoc::here())
      : handle_(detail::constant(static_cast<double>(number), T, detail::dims(axes{}), loc)) {
    static_assert(check::NumberFits<N, T>::ok);
  }

  template <class E>
    requires(Expression<detail::Plain<E>> && !std::same_as<detail::Plain<E>, Tile>)
  Tile(E&& e, SourceLoc loc = SourceLoc::here()) {
    using From = detail::Plain<E>;
    static_assert(check::UsedOnce<E>::ok);
    static_assert(check::BindsDtype<From::dtype, T>::ok);
    static_assert(check::BindsAxes<typename From::axes, axes>::ok);
    handle_ = e.lower(loc);
  }

  // Chosen where a field of a struct is left out, as in OnlineSoftmax{lowest}.
  template <class Missing = void>
  Tile() {
    static_assert(detail::never<Missing>,
                  "a Tile has no default value: give every field of the struct one, as in OnlineSoftmax{lowest, 0, 0}");
  }

  Tile& operator+=(Right r) { return assign(ir::OpCode::add, r); }
  Tile& operator-=(Right r) { return assign(ir::OpCode::sub, r); }
  Tile& operator*=(Right r) { return assign(ir::OpCode::mul, r); }
  Tile& operator/=(Right r) { return assign(ir::OpCode::div, r); }

  detail::Handle lower(SourceLoc) const { return handle_; }
  static Tile of(detail::Handle handle) { return Tile(handle, {}, 0); }

 private:
  Tile(detail::Handle handle, SourceLoc, int) : handle_(handle) {}
  Tile& assign(ir::OpCode code, const Right& r) {
    static_assert(T != i1, "arithmetic on a condition: use where(condition, a, b) or cast<f32>(condition)");
    handle_ = detail::binary(code, handle_, r.handle, r.loc);
    return *this;
  }

  detail::Handle handle_;
};

namespace detail {
template <class X>
inline constexpr bool is_tile = false;
template <DType T, class... A>
inline constexpr bool is_tile<Tile<T, A...>> = true;

template <DType T, class List>
struct TileWith;
template <DType T, class... A>
struct TileWith<T, Axes<A...>> {
  using type = Tile<T, A...>;
};
template <class E>
using tile_of = typename TileWith<E::dtype, typename E::axes>::type;
}  // namespace detail

// Binds an expression to a Tile whose dtype and axes are those of the expression: auto x = let(a * b + c);
template <class E>
  requires Expression<detail::Plain<E>>
auto let(E&& e, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::UsedOnce<E>::ok);
  return detail::tile_of<detail::Plain<E>>::of(e.lower(loc));
}

}  // namespace tessera
