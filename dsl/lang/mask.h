// What may attend to what: a predicate on (query, key), written as a lambda, traced when the Mask is made, and from
// then on an expression that geometry, interpreter and kernels read.
//
//   Mask recent = [](Position q, Position k) { return k <= q && q - k < 1024; };
//   Mask ragged = [](Position q, Position k, At at) { return k <= q + at.key_length - at.query_length; };
//   Mask docs   = causal & [doc](Position q, Position k) { return doc[q] == doc[k]; };      // also | and ~
//
// The third parameter, At, is for those that need head, batch or lengths. Positions are raw token indices: `k <= q` is
// aligned at the first tokens. `/` and `%` floor; && and || evaluate both sides. A captured C++ number is a constant.
// `lambda & lambda` needs tessera's operators in scope (using namespace tessera, or using tessera::operator&).
// Inside a lambda a Mask is called with positions of one's own: old(q - 1, k, at) is what the query before may see.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include <tessera/dsl/lang/math.h>
#include <tessera/dsl/lang/position.h>

namespace tessera {

class Mask;

namespace detail {

template <class F>
concept PlainCall = requires { &F::operator(); };
template <class F>
concept OfPositions = std::is_invocable_v<const F&, Position, Position>;
template <class F>
concept OfPositionsAt = std::is_invocable_v<const F&, Position, Position, At>;
// std::is_array<T> and its like can be called, and are found beside tessera's operators where T is of tessera.
template <class F>
concept Trait = requires { F::value; };
// Anything that was meant as a predicate; those with other parameters get a sentence.
template <class F>
concept Lambda =
    std::is_class_v<F> && !std::same_as<F, Mask> && !Trait<F> && (PlainCall<F> || OfPositions<F> || OfPositionsAt<F>);

}  // namespace detail

class Mask {
 public:
  Mask();  // everything is allowed
  explicit Mask(mask::Pointwise predicate)
      : predicate_(std::make_shared<const mask::Pointwise>(std::move(predicate))) {}

  template <class F>
    requires detail::Lambda<F>
  Mask(const F& f, SourceLoc loc = SourceLoc::here()) {
    detail::FunctionTrace trace("mask", false, loc);
    if constexpr (detail::OfPositions<F>) {
      finish(trace, f(argument(trace, ir::Function::q), argument(trace, ir::Function::k)), loc);
    } else if constexpr (detail::OfPositionsAt<F>) {
      finish(trace, f(argument(trace, ir::Function::q), argument(trace, ir::Function::k), at(trace)), loc);
    } else {
      static_assert(detail::never<F>,
                    "a mask is a lambda of (Position q, Position k) or (Position q, Position k, At at); at has head, "
                    "batch, query_length "
                    "and key_length");
    }
  }

  // The same mask under a name, which is what printed programs and reports call it: letters, digits and underscores.
  Mask named(std::string name, SourceLoc loc = SourceLoc::here()) const;
  // The same mask, for calls of these lengths only. Others are refused, naming `of`: "the grid 30 x 48 x 80".
  Mask for_lengths(std::string of, mask::Extent queries, mask::Extent keys) const;
  // The predicate at these positions, inside another mask or a score; the lengths it is made for are that one's too.
  Tile<i1> operator()(Position q, Position k, At at, SourceLoc loc = SourceLoc::here()) const;

  const mask::Pointwise& predicate() const { return *predicate_; }
  const std::shared_ptr<const mask::Pointwise>& shared() const { return predicate_; }

  friend Mask operator&(const Mask& a, const Mask& b);
  friend Mask operator|(const Mask& a, const Mask& b);
  friend Mask operator~(const Mask& a);

  static Position argument(const detail::FunctionTrace& trace, int i) { return Position::of(trace.argument(i)); }
  static At at(const detail::FunctionTrace& trace) {
    return {argument(trace, ir::Function::head), argument(trace, ir::Function::batch),
            argument(trace, ir::Function::query_length), argument(trace, ir::Function::key_length)};
  }

 private:
  template <class R>
  void finish(detail::FunctionTrace& trace, const R& result, SourceLoc loc) {
    if constexpr (std::is_same_v<R, bool>) {
      take(trace, detail::Constant<i1>(result).lower(loc));
    } else if constexpr (!Expression<R>) {
      static_assert(detail::never<R>, "a mask returns a condition on its positions, as in k <= q");
    } else {
      static_assert(R::dtype == i1,
                    "a mask returns a condition on its positions: compare the value, as in bits(q, k) != 0");
      take(trace, result.lower(loc));
    }
  }
  void take(detail::FunctionTrace& trace, detail::Handle result);

  std::shared_ptr<const mask::Pointwise> predicate_;
};

namespace detail {
template <class A, class B>
concept LambdaPair = (Lambda<A> || std::same_as<A, Mask>) && (Lambda<B> || std::same_as<B, Mask>) &&
                     !(std::same_as<A, Mask> && std::same_as<B, Mask>);
template <class A, class B>
concept MaskPair = (Lambda<A> || std::same_as<A, Mask>) && (Lambda<B> || std::same_as<B, Mask>);
template <class A, class B>
concept MaskAndCondition =
    ((Lambda<A> || std::same_as<A, Mask>) && Expression<B>) || (Expression<A> && (Lambda<B> || std::same_as<B, Mask>));
}  // namespace detail

namespace check {
template <class A, class B>
struct MaskOfCondition {
  static_assert(detail::never<A, B>,
                "a Mask beside a condition: conditions combine with && || ! inside one mask, masks with & | ~ outside");
  static constexpr bool ok = true;
};
}  // namespace check

template <class A, class B>
  requires detail::LambdaPair<A, B>
Mask operator&(const A& a, const B& b) {
  return Mask(a) & Mask(b);
}
template <class A, class B>
  requires detail::LambdaPair<A, B>
Mask operator|(const A& a, const B& b) {
  return Mask(a) | Mask(b);
}
template <class A>
  requires detail::Lambda<A>
Mask operator~(const A& a) {
  return ~Mask(a);
}
template <class A, class B>
  requires detail::MaskPair<A, B>
Mask operator&&(const A& a, const B&) {
  static_assert(detail::never<A, B>, "masks combine with & | ~; && || ! are for conditions inside a mask");
  return Mask(a);
}
// Only of what is a mask as it stands: a std::function in a namespace that uses tessera may be tested by !.
template <class A>
  requires(std::same_as<A, Mask> || (std::is_class_v<A> && (detail::OfPositions<A> || detail::OfPositionsAt<A>)))
Mask operator!(const A& a) {
  static_assert(detail::never<A>, "masks combine with & | ~; && || ! are for conditions inside a mask");
  return Mask(a);
}
template <class A, class B>
  requires detail::MaskAndCondition<A, B>
auto operator&(const A&, const B&) {
  static_assert(check::MaskOfCondition<A, B>::ok);
  return detail::Constant<i1>(0);
}
template <class A, class B>
  requires detail::MaskAndCondition<A, B>
auto operator|(const A&, const B&) {
  static_assert(check::MaskOfCondition<A, B>::ok);
  return detail::Constant<i1>(0);
}
template <class A, class B>
  requires detail::MaskPair<A, B>
Mask operator||(const A& a, const B&) {
  static_assert(detail::never<A, B>, "masks combine with & | ~; && || ! are for conditions inside a mask");
  return Mask(a);
}

}  // namespace tessera
