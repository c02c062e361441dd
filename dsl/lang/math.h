// Functions of expressions. They live in tessera and are found by argument; under `using namespace std` they still win
// over std::max and std::min, and calling those by full name is refused with a sentence.
//
// On a GPU f32 functions are the hardware's: exp2, sqrt and rsqrt within 2 units in the last place, exp and log one
// rounding more, tanh within 4e-7 of the value. x / y is within 2 units while |y| is from 2^-126 to 2^126. Where many
// elements are divided by few, as rows by their sums, each is multiplied by a rounded 1 / y: one rounding more, and
// beyond that range of |y| the quotient is 0 or infinite. Denormal numbers count as 0.
#pragma once

#include <tessera/dsl/lang/tile.h>

namespace tessera {

// clang-format off
#define TESSERA_UNARY(name)                                                    \
  template <class X> requires Expression<detail::Plain<X>> auto name(X&& x) {  \
    return detail::make_unary<ir::OpCode::name>(std::forward<X>(x));           \
  }
TESSERA_UNARY(abs)  TESSERA_UNARY(exp)   TESSERA_UNARY(exp2)  TESSERA_UNARY(log)  TESSERA_UNARY(log2)
TESSERA_UNARY(tanh) TESSERA_UNARY(sqrt)  TESSERA_UNARY(rsqrt) TESSERA_UNARY(floor)
#undef TESSERA_UNARY

// The second overload is as specialised as std::max(const T&, const T&), and more constrained.
#define TESSERA_EXTREME(name)                                                                             \
  template <class A, class B> requires detail::Operands<A, B> auto name(A&& a, B&& b) {                   \
    return detail::make_binary<ir::OpCode::name>(std::forward<A>(a), std::forward<B>(b));                 \
  }                                                                                                       \
  template <Expression A> auto name(const A& a, const A& b) { return detail::make_binary<ir::OpCode::name>(a, b); }
TESSERA_EXTREME(max)
TESSERA_EXTREME(min)
#undef TESSERA_EXTREME
// clang-format on

namespace detail {

template <DType T, class X>
struct Cast : NoBranch<Cast<T, X>> {
  using axes = typename X::axes;
  static constexpr DType dtype = T;
  X x;

  explicit Cast(X operand) : x(operand) {}
  Handle lower(SourceLoc loc) const { return cast(x.lower(loc), T, loc); }
};

template <class C, class A, class B>
struct Select : NoBranch<Select<C, A, B>> {
  static_assert(C::dtype == i1, "where: the first operand must be a condition, as in where(x > 0, x, 0)");
  static_assert(check::SameDtype<A::dtype, B::dtype>::ok);
  static_assert(check::AxesNest<typename A::axes, typename B::axes>::ok);
  static_assert(check::AxesNest<typename C::axes, wider<typename A::axes, typename B::axes>>::ok);
  using axes = wider<wider<typename A::axes, typename B::axes>, typename C::axes>;
  static constexpr DType dtype = A::dtype;
  C condition;
  A yes;
  B no;

  Select(C c, A a, B b) : condition(c), yes(a), no(b) {}
  Handle lower(SourceLoc loc) const {
    const Handle c = condition.lower(loc), a = yes.lower(loc), b = no.lower(loc);
    return select(c, a, b, loc);
  }
};

template <ir::OpCode Code, class Removed, class X>
struct Reduce : NoBranch<Reduce<Code, Removed, X>> {
  static_assert(has_axis<Removed, typename X::axes>, "reduce: the operand does not have the axis to reduce");
  static_assert((Code == ir::OpCode::reduce_any || Code == ir::OpCode::reduce_all) == (X::dtype == i1),
                "reduce_any and reduce_all are for conditions, the other reductions for numbers");
  using axes = without<typename X::axes, Axes<Removed>>;
  static constexpr DType dtype = X::dtype;
  X x;

  explicit Reduce(X operand) : x(operand) {}
  Handle lower(SourceLoc loc) const { return reduce(Code, x.lower(loc), axis<Removed>(), loc); }
};

// A condition on a whole tile: one reduction an axis.
template <ir::OpCode Code, class X>
struct Whole : NoBranch<Whole<Code, X>> {
  static_assert(X::dtype == i1, "any and all are for conditions: compare the value first");
  using axes = Axes<>;
  static constexpr DType dtype = i1;
  X x;

  explicit Whole(X operand) : x(operand) {}
  Handle lower(SourceLoc loc) const { return each(x.lower(loc), typename X::axes{}, loc); }

 private:
  template <class... A>
  static Handle each(Handle h, Axes<A...>, SourceLoc loc) {
    ((h = reduce(Code, h, axis<A>(), loc)), ...);
    return h;
  }
};

template <class L, class R>
struct Contracts {
  static_assert(common<L, R>::rank == 1,
                "dot contracts the one axis that its operands share, and these share none or several");
  static constexpr bool ok = true;
};

template <class L, class R>
struct Dot : NoBranch<Dot<L, R>> {
  using shared = common<typename L::axes, typename R::axes>;
  static_assert(Contracts<typename L::axes, typename R::axes>::ok);
  static_assert(check::SameDtype<L::dtype, R::dtype>::ok);
  static_assert(is_float_type(L::dtype), "dot multiplies floating tiles: cast them, as in cast<bf16>(x)");
  using axes = concat<without<typename L::axes, shared>, without<typename R::axes, shared>>;
  static constexpr DType dtype = f32;
  L left;
  R right;

  Dot(L l, R r) : left(l), right(r) {}
  Handle lower(SourceLoc loc) const {
    const Handle l = left.lower(loc), r = right.lower(loc);
    return dot(l, r, loc);
  }
};

template <ir::OpCode Code, class A, class X>
auto make_reduce(X&& x) {
  static_assert(check::UsedOnce<X>::ok);
  return Reduce<Code, A, Plain<X>>(x);
}

}  // namespace detail

namespace check {
template <class X>
struct NamesAxis {
  static_assert(detail::never<X>,
                "a reduction names the axis that it is over: reduce_sum<Key>(x); any and all are over every axis");
  static constexpr bool ok = true;
};
}  // namespace check

// To another dtype. Float to i32 truncates, a condition becomes 0 or 1.
template <DType T, class X>
  requires Expression<detail::Plain<X>>
auto cast(X&& x) {
  static_assert(check::UsedOnce<X>::ok);
  return detail::Cast<T, detail::Plain<X>>(x);
}

template <class T, class X>
  requires Expression<detail::Plain<X>>
auto cast(X&& x) {
  static_assert(detail::never<T>, "cast names a dtype of tessera: cast<f32>(x), cast<bf16>(x), cast<i32>(x)");
  return x;
}

// Elementwise choice: where(condition, if true, if false). Both are always computed.
template <class C, class A, class B>
  requires(Expression<detail::Plain<C>> && detail::Operand<A> && detail::Operand<B>)
auto where(C&& c, A&& a, B&& b) {
  static_assert(check::UsedOnce<C>::ok && check::UsedOnce<A>::ok && check::UsedOnce<B>::ok);
  constexpr DType t = detail::meet<detail::Plain<A>, detail::Plain<B>>();
  using L = detail::operand_type<t, detail::Plain<A>>;
  using R = detail::operand_type<t, detail::Plain<B>>;
  return detail::Select<detail::Plain<C>, L, R>(c, detail::operand<t>(a), detail::operand<t>(b));
}

// Over one axis, which the result lacks: reduce_sum<Key>(p).
// clang-format off
#define TESSERA_REDUCE(name)                                                                  \
  template <AxisType A, class X> requires Expression<detail::Plain<X>> auto name(X&& x) {     \
    return detail::make_reduce<ir::OpCode::name, A>(std::forward<X>(x));                      \
  }                                                                                           \
  template <class X> requires Expression<detail::Plain<X>> auto name(X&& x) {                 \
    static_assert(check::NamesAxis<X>::ok);                                                   \
    return x;                                                                                 \
  }
TESSERA_REDUCE(reduce_max)  TESSERA_REDUCE(reduce_min)  TESSERA_REDUCE(reduce_sum)
TESSERA_REDUCE(reduce_any)  TESSERA_REDUCE(reduce_all)
#undef TESSERA_REDUCE
// clang-format on

// Over every axis: one answer for the tile, which is what when(...) takes.
template <class X>
  requires Expression<detail::Plain<X>>
auto any(X&& x) {
  static_assert(check::UsedOnce<X>::ok);
  return detail::Whole<ir::OpCode::reduce_any, detail::Plain<X>>(x);
}
template <class X>
  requires Expression<detail::Plain<X>>
auto all(X&& x) {
  static_assert(check::UsedOnce<X>::ok);
  return detail::Whole<ir::OpCode::reduce_all, detail::Plain<X>>(x);
}

// The matrix product over the axis that both have, in f32: dot(Tile<bf16, Query, Depth>, Tile<bf16, Key, Depth>) has
// axes Query and Key.
template <class L, class R>
  requires(Expression<detail::Plain<L>> && Expression<detail::Plain<R>>)
auto dot(L&& l, R&& r) {
  static_assert(check::UsedOnce<L>::ok && check::UsedOnce<R>::ok);
  return detail::Dot<detail::Plain<L>, detail::Plain<R>>(l, r);
}

}  // namespace tessera
