// Expressions: small values that hold their operands, checked for dtype and axes as they are built, and lowered to IR
// when they are bound to a Tile. A statement is one expression; types never grow from statement to statement, because
// what a statement binds is a Tile again.
//
//   Tile<f32, Query> r = exp2(m - x);        // built here as Unary<exp2, Binary<sub, Tile, Tile>>, two ops when bound
//   auto y = x * x;  y + y                   // refused: y would be computed once per use
//   if (x > 0)                               // refused: a kernel value has no truth while it is traced
//
// Elementwise operands broadcast by the names of their axes, and one side's axes must contain the other's. A C++ number
// takes the dtype of the value beside it; nothing else converts.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <tessera/dsl/lang/axis.h>
#include <tessera/dsl/lang/dtype.h>
#include <tessera/dsl/lang/trace.h>

namespace tessera {

template <class E>
concept Expression = requires(const E& e, SourceLoc loc) {
  typename E::axes;
  { E::dtype } -> std::convertible_to<DType>;
  { e.lower(loc) } -> std::same_as<detail::Handle>;
};

namespace detail {

template <class X>
using Plain = std::remove_cvref_t<X>;
template <class X>
concept Number = std::is_arithmetic_v<X>;
template <class X>
concept Operand = Expression<Plain<X>> || Number<Plain<X>>;
template <class A, class B>
concept Operands = Operand<A> && Operand<B> && (Expression<Plain<A>> || Expression<Plain<B>>);

// Values that may be used any number of times: those with a name in the IR already.
template <class X>
inline constexpr bool is_bound = Number<X> || requires { typename X::bound_value; };

// Whether C++ may choose between a Self and a B, as `given ? near : true` does: such a choice needs a conversion in one
// direction and none in the other. Only conditions are beside a bool there.
template <class B, class Self>
inline constexpr bool is_choice = Self::dtype == i1 && std::is_convertible_v<B, Self>;

}  // namespace detail

// Each check is a type of its own, so that the compiler's message names the axes and dtypes it was made with.
namespace check {

template <class X>
struct UsedOnce {
  static_assert(
      !std::is_lvalue_reference_v<X> || detail::is_bound<detail::Plain<X>>,
      "bind this expression to a Tile first (Tile<...> x = ..., or auto x = let(...)): as an unbound auto it would be "
      "computed once per use");
  static constexpr bool ok = true;
};

template <DType Left, DType Right>
struct SameDtype {
  static_assert(Left == Right, "the operands have different dtypes: cast one of them, as in cast<f32>(x)");
  static constexpr bool ok = true;
};

template <class Left, class Right>
struct AxesNest {
  static_assert(
      detail::subset<Left, Right> || detail::subset<Right, Left>,
      "the operands' axes differ: one side's axes must contain the other's (operands broadcast by axis name)");
  static constexpr bool ok = true;
};

template <class N, DType T>
struct NumberFits {
  static_assert(T != i32 || !std::is_same_v<N, long double>,
                "a kernel value is no C++ number while it is traced: call the functions of tessera, as abs(q - k) or "
                "exp(s), and not those of std");
  static_assert(T != i32 || !std::is_floating_point_v<N>,
                "a fractional C++ number beside an i32 value: write an integer, or cast the value to f32");
  static_assert(T != i1 || std::is_same_v<N, bool>,
                "a C++ number beside a condition: conditions combine with && || ! only");
  static_assert(T == i1 || !std::is_same_v<N, bool>, "a C++ bool beside a number: use where(condition, a, b)");
  static constexpr bool ok = true;
};

template <ir::OpCode Code, DType T>
struct Allows {
  static constexpr bool logic =
      Code == ir::OpCode::logical_and || Code == ir::OpCode::logical_or || Code == ir::OpCode::logical_not;
  static constexpr bool equality = Code == ir::OpCode::eq || Code == ir::OpCode::ne;
  static constexpr bool floats_only =
      Code == ir::OpCode::exp || Code == ir::OpCode::exp2 || Code == ir::OpCode::log || Code == ir::OpCode::log2 ||
      Code == ir::OpCode::tanh || Code == ir::OpCode::sqrt || Code == ir::OpCode::rsqrt || Code == ir::OpCode::floor;
  static_assert(!logic || T == i1, "&& || ! and any, all combine conditions: compare the value first");
  static_assert(logic || equality || T != i1,
                "arithmetic on a condition: use where(condition, a, b) or cast<f32>(condition)");
  static_assert(!floats_only || detail::is_float_type(T), "this function needs a floating value: cast<f32>(x)");
  static_assert(Code != ir::OpCode::mod || T == i32, "% is for i32 values");
  static constexpr bool ok = true;
};

}  // namespace check

// Base of every kernel value: C++ control flow and C++ arrays cannot see one. Each conversion is to the one type that
// the mistake asks for, so that it is chosen, and refuses with a sentence. Some mistakes are left to the compiler's own
// words: a conversion to int or ptrdiff_t, for maps and built-in arrays, would make `given ? q : 0` and std::abs(q)
// ambiguous, and std::max(q, 3) fails before it sees a value.
template <class Self>
struct NoBranch {
  template <class B>
    requires std::same_as<B, bool>
  explicit(detail::is_choice<B, Self>) operator B() const {
    static_assert(detail::never<B, Self>,
                  "a kernel value has no truth while it is traced: use when(...) or where(...) instead of if, and min, "
                  "max and abs of "
                  "tessera instead of those of std");
    return false;
  }
  // Subscripts of std::vector, std::array and std::span.
  template <class N>
    requires std::same_as<N, std::size_t>
  operator N() const {
    static_assert(detail::never<N, Self>,
                  "a kernel value is no index of a C++ array while it is traced: put the values in a Table and read it "
                  "as table[q]");
    return 0;
  }
  // Of the overloads of std::abs, std::exp, ... those for long double are chosen.
  template <class N>
    requires std::same_as<N, long double>
  operator N() const {
    static_assert(detail::never<N, Self>,
                  "a kernel value is no C++ number while it is traced: call the functions of tessera, as abs(q - k) or "
                  "exp(s), and not those of std");
    return 0;
  }
};

namespace detail {

template <DType T>
struct Constant : NoBranch<Constant<T>> {
  using axes = Axes<>;
  static constexpr DType dtype = T;
  double number;

  explicit Constant(double n) : number(n) {}
  Handle lower(SourceLoc loc) const { return constant(number, T, {}, loc); }
};
template <class X>
inline constexpr bool is_constant = false;
template <DType T>
inline constexpr bool is_constant<Constant<T>> = true;

template <DType T, class X>
auto operand(const X& x) {
  if constexpr (Expression<X>) {
    return x;
  } else {
    static_assert(check::NumberFits<X, T>::ok);
    return Constant<T>(static_cast<double>(x));
  }
}
template <DType T, class X>
using operand_type = decltype(operand<T>(std::declval<const X&>()));

// The dtype that two operands meet at: that of the expression, if one of them is a number.
template <class A, class B>
constexpr DType meet() {
  if constexpr (Expression<A>) {
    return A::dtype;
  } else if constexpr (Expression<B>) {
    return B::dtype;
  } else if constexpr (std::is_same_v<A, bool> && std::is_same_v<B, bool>) {
    return i1;
  } else {
    return std::is_integral_v<A> && std::is_integral_v<B> ? i32 : f32;
  }
}

constexpr bool is_comparison(ir::OpCode c) {
  return c == ir::OpCode::lt || c == ir::OpCode::le || c == ir::OpCode::gt || c == ir::OpCode::ge ||
         c == ir::OpCode::eq || c == ir::OpCode::ne;
}

void refuse_zero_divisor(double divisor, SourceLoc loc);

template <ir::OpCode Code, class L, class R>
struct Binary : NoBranch<Binary<Code, L, R>> {
  static_assert(check::SameDtype<L::dtype, R::dtype>::ok);
  static_assert(check::AxesNest<typename L::axes, typename R::axes>::ok);
  static_assert(check::Allows<Code, L::dtype>::ok);
  using axes = wider<typename L::axes, typename R::axes>;
  static constexpr DType dtype = is_comparison(Code) ? i1 : L::dtype;
  L left;
  R right;

  Binary(L l, R r) : left(l), right(r) {}
  Handle lower(SourceLoc loc) const {
    if constexpr ((Code == ir::OpCode::div || Code == ir::OpCode::mod) && L::dtype == i32 && is_constant<R>) {
      refuse_zero_divisor(right.number, loc);
    }
    const Handle l = left.lower(loc), r = right.lower(loc);
    return binary(Code, l, r, loc);
  }
};

template <ir::OpCode Code, class X>
struct Unary : NoBranch<Unary<Code, X>> {
  static_assert(check::Allows<Code, X::dtype>::ok);
  using axes = typename X::axes;
  static constexpr DType dtype = X::dtype;
  X x;

  explicit Unary(X operand) : x(operand) {}
  Handle lower(SourceLoc loc) const { return unary(Code, x.lower(loc), loc); }
};

template <ir::OpCode Code, class A, class B>
auto make_binary(A&& a, B&& b) {
  static_assert(check::UsedOnce<A>::ok && check::UsedOnce<B>::ok);
  constexpr DType t = meet<Plain<A>, Plain<B>>();
  return Binary<Code, operand_type<t, Plain<A>>, operand_type<t, Plain<B>>>(operand<t>(a), operand<t>(b));
}

template <ir::OpCode Code, class X>
auto make_unary(X&& x) {
  static_assert(check::UsedOnce<X>::ok);
  return Unary<Code, Plain<X>>(x);
}

}  // namespace detail

// clang-format off
#define TESSERA_OPERATOR(symbol, code)                                            \
  template <class A, class B> requires detail::Operands<A, B>                     \
  auto operator symbol(A&& a, B&& b) {                                            \
    return detail::make_binary<ir::OpCode::code>(std::forward<A>(a), std::forward<B>(b)); \
  }
TESSERA_OPERATOR(+, add)  TESSERA_OPERATOR(-, sub)  TESSERA_OPERATOR(*, mul)
TESSERA_OPERATOR(/, div)  TESSERA_OPERATOR(%, mod)
TESSERA_OPERATOR(<, lt)   TESSERA_OPERATOR(<=, le)  TESSERA_OPERATOR(>, gt)   TESSERA_OPERATOR(>=, ge)
TESSERA_OPERATOR(==, eq)  TESSERA_OPERATOR(!=, ne)
TESSERA_OPERATOR(&&, logical_and)  TESSERA_OPERATOR(||, logical_or)  // both sides are always evaluated
#undef TESSERA_OPERATOR
// clang-format on

template <class X>
  requires Expression<detail::Plain<X>>
auto operator-(X&& x) {
  return detail::make_unary<ir::OpCode::neg>(std::forward<X>(x));
}
template <class X>
  requires Expression<detail::Plain<X>>
auto operator!(X&& x) {
  return detail::make_unary<ir::OpCode::logical_not>(std::forward<X>(x));
}

// Kernel values have no bits, and & | ~ belong to masks.
namespace check {
template <class A, class B = A>
struct HasBits {
  static_assert(detail::never<A, B>,
                "kernel values have no & | ^ ~ << >>: conditions combine with && || !, and bits of a position are "
                "arithmetic: q % 2 for q & 1, q / 8 for q >> 3, q * 8 for q << 3");
  static constexpr bool ok = true;
};
}  // namespace check
// clang-format off
#define TESSERA_NO_OPERATOR(symbol)                                               \
  template <class A, class B> requires detail::Operands<A, B>                     \
  auto operator symbol(A&&, B&&) {                                                \
    static_assert(check::HasBits<A, B>::ok);                                      \
    return detail::Constant<i32>(0);                                              \
  }
TESSERA_NO_OPERATOR(&)   TESSERA_NO_OPERATOR(|)   TESSERA_NO_OPERATOR(^)   TESSERA_NO_OPERATOR(<<)   TESSERA_NO_OPERATOR(>>)
TESSERA_NO_OPERATOR(&=)  TESSERA_NO_OPERATOR(|=)  TESSERA_NO_OPERATOR(^=)  TESSERA_NO_OPERATOR(<<=)  TESSERA_NO_OPERATOR(>>=)
#undef TESSERA_NO_OPERATOR
    // clang-format on
    template <class X>
  requires Expression<detail::Plain<X>>
auto operator~(X&&) {
  static_assert(check::HasBits<X>::ok);
  return detail::Constant<i32>(0);
}

// C++20 reads table[q, k] as table[(q, k)], which is table[k].
template <class A, class B>
  requires(Expression<detail::Plain<A>> && Expression<detail::Plain<B>>)
auto operator,(A&&, B&& b) {
  static_assert(detail::never<A, B>,
                "a comma between kernel values drops the left one: read a table of several dimensions by table(q, k)");
  return b;
}

}  // namespace tessera
