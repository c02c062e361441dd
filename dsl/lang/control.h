// Control flow of a kernel: closures over tiles, traced once. What changes from trip to trip is the carried state, a
// struct of Tiles (struct.h) or one Tile, which the body is given and returns.
//
//   auto end = over<Key>(mask, State{0, 0}, [&](KeyTile t, State s) { ...; return State{...}; });
//                                                 the tiles of keys that the mask needs, of no other axis
//   over<Key>(mask, up_to(n), state, body)        keys from n on do not exist: they are neither read nor allowed
//   loop<Channel>(state, body)                    every tile of an axis: body(TileIndex<Channel> t, State s)
//   loop(0, n, state, body)                       body(Tile<i32> i, State s)
//   when(any(x > 0), state, body)                 body(State s), or the state as it was; one answer for the whole tile
//
// Each also exists without a state, for bodies that only store; what lies in tiles that are not visited is not written.
// A C++ `if` decides while the program is traced.
//
// Tiles that the mask allows in part are visited whole, so the body of over<Key>(mask, ...) chooses by t.allowed:
// where(t.allowed, x, -inf) before a softmax, where(t.allowed, x, 0) before a sum. One that never reads it is refused,
// unless it says t.ignore_mask(): all keys of a visited tile count.
#pragma once

#include <tessera/dsl/lang/mask.h>
#include <tessera/dsl/lang/struct.h>

namespace tessera {

// How many elements of a looped axis exist for this program, where that is fewer than the tensors have.
class UpTo {
 public:
  UpTo() = default;  // all of them
  explicit UpTo(detail::Handle handle) : handle_(handle), bounded_(true) {}
  const detail::Handle* handle() const { return bounded_ ? &handle_ : nullptr; }

 private:
  detail::Handle handle_;
  bool bounded_ = false;
};

inline UpTo up_to() { return {}; }
template <class E>
  requires Expression<detail::Plain<E>>
UpTo up_to(E&& e, SourceLoc loc = SourceLoc::here()) {
  using X = detail::Plain<E>;
  static_assert(check::UsedOnce<E>::ok);
  static_assert(X::dtype == i32 && X::axes::rank == 0,
                "up_to takes one i32 number for the whole tile, as in up_to(a.key_lengths[index<Batch>()])");
  return UpTo(e.lower(loc));
}

namespace check {
template <class S>
struct Carried {
  static_assert(detail::all_tiles<S>(),
                "the carried state is a Tile, or a struct declared by TESSERA_STRUCT whose fields are Tiles");
  static constexpr bool ok = true;
};
template <class S, class A>
struct CarriedAcross {
  static_assert(
      detail::lacks_axis<S, A>(),
      "the carried state has the axis that the loop walks in tiles: it would mean another tile on every trip");
  static constexpr bool ok = true;
};
template <class A>
struct Masked {
  static_assert(std::is_same_v<A, Key>,
                "over with a mask walks Key: a mask says which keys the program's queries need; loop<Axis>(...) walks "
                "any axis");
  static constexpr bool ok = true;
};
template <class Returned, class S>
struct Returns {
  static constexpr bool unbound = Expression<Returned> && !detail::is_tile<Returned>;
  static_assert(
      !unbound,
      "the body returns an expression, and the carried state is bound: return let(...), or the state's struct");
  static_assert(unbound || std::is_same_v<Returned, S>,
                "the body must return the carried state that it was given, of the same type");
  static constexpr bool ok = true;
};
template <class S>
struct OverMask {
  static_assert(
      detail::never<S>,
      "over walks what a mask needs, and takes it first: over<Key>(mask, state, body); loop<Key>(state, body) "
      "walks every tile");
  static constexpr bool ok = true;
};
template <class... X>
struct OverAxis {
  static_assert(detail::never<X...>, "over names the axis that it walks: over<Key>(mask, state, body)");
  static constexpr bool ok = true;
};
}  // namespace check

namespace detail {

struct NoState {};

template <class S>
std::vector<Handle> init(const S& state, SourceLoc loc) {
  if constexpr (std::is_same_v<S, NoState>) {
    return {};
  } else {
    static_assert(check::Carried<S>::ok);
    return state_handles(state, loc);
  }
}
template <class S>
Names names() {
  if constexpr (std::is_same_v<S, NoState>) {
    return {};
  } else {
    return state_names<S>();
  }
}
template <class S>
S result(const std::vector<Handle>& handles) {
  if constexpr (std::is_same_v<S, NoState>) {
    return {};
  } else {
    return state_from<S>(handles);
  }
}

// Runs a body on the region's values. Index is the first parameter of the body, void for `when`.
template <class S, class F, class... Index>
std::vector<Handle> run(const F& body, std::span<const Handle> carried, SourceLoc loc, const Index&... index) {
  if constexpr (std::is_same_v<S, NoState>) {
    static_assert(
        std::is_invocable_v<const F&, Index...>,
        "this body has other parameters: without a state it takes the loop's tile or index alone, and none under when");
    body(index...);
    return {};
  } else if constexpr (!std::is_invocable_v<const F&, Index..., S>) {
    static_assert(
        never<F>,
        "this body has other parameters: it takes the loop's tile or index (none under when), then the carried state, "
        "both by value");
    return {};
  } else {
    static_assert(check::Returns<std::invoke_result_t<const F&, Index..., S>, S>::ok);
    return state_handles(body(index..., state_from<S>(carried)), loc);
  }
}

template <class A, class S, class F>
S over_tiles(const Mask* mask, const UpTo& limit, const S& state, const F& body, SourceLoc loc) {
  if constexpr (!std::is_same_v<S, NoState>) static_assert(check::CarriedAcross<S, A>::ok);
  const int function = mask ? Trace::kernel(loc, "over").function(mask->shared()) : -1;
  return result<S>(detail::over(
      axis<A>(), function, limit.handle(), init(state, loc), names<S>(),
      [&](Handle tile, std::span<const Handle> carried) {
        return run<S>(body, carried, loc, TileIndex<A>(tile, function));
      },
      loc));
}

template <class S, class F>
S counted(Tile<i32> lo, Tile<i32> hi, const S& state, const F& body, SourceLoc loc) {
  return result<S>(loop(
      lo.lower(loc), hi.lower(loc), init(state, loc), names<S>(),
      [&](Handle i, std::span<const Handle> carried) { return run<S>(body, carried, loc, Tile<i32>::of(i)); }, loc));
}

template <class C, class S, class F>
S conditional(const C& condition, const S& state, const F& body, SourceLoc loc) {
  static_assert(C::dtype == i1, "when: the first operand must be a condition");
  static_assert(C::axes::rank == 0, "when needs one answer for the whole tile: any(...) or all(...)");
  return result<S>(when(
      condition.lower(loc), init(state, loc), names<S>(),
      [&](Handle, std::span<const Handle> carried) { return run<S>(body, carried, loc); }, loc));
}

}  // namespace detail

// The tiles of keys that the mask needs for this program's tile of queries.
template <AxisType A, class S, class F>
S over(const Mask& mask, const S& state, const F& body, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::Masked<A>::ok);
  return detail::over_tiles<A>(&mask, {}, state, body, loc);
}
template <AxisType A, class S, class F>
S over(const Mask& mask, const UpTo& limit, const S& state, const F& body, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::Masked<A>::ok);
  return detail::over_tiles<A>(&mask, limit, state, body, loc);
}
template <AxisType A, class F>
void over(const Mask& mask, const F& body, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::Masked<A>::ok);
  detail::over_tiles<A>(&mask, {}, detail::NoState{}, body, loc);
}

// What over is not.
template <AxisType A, class S, class F>
  requires(!std::is_convertible_v<const S&, Mask>)
S over(const S& state, const F&) {
  static_assert(check::OverMask<S>::ok);
  return state;
}
template <class... X>
  requires(!AxisType<X> && ...)
void over(const X&...) {
  static_assert(check::OverAxis<X...>::ok);
}

// Every tile of axis A.
template <AxisType A, class S, class F>
S loop(const S& state, const F& body, SourceLoc loc = SourceLoc::here()) {
  return detail::over_tiles<A>(nullptr, {}, state, body, loc);
}
template <AxisType A, class F>
void loop(const F& body, SourceLoc loc = SourceLoc::here()) {
  detail::over_tiles<A>(nullptr, {}, detail::NoState{}, body, loc);
}

// i from lo to hi - 1.
template <class S, class F>
S loop(Tile<i32> lo, Tile<i32> hi, const S& state, const F& body, SourceLoc loc = SourceLoc::here()) {
  return detail::counted(lo, hi, state, body, loc);
}
template <class F>
void loop(Tile<i32> lo, Tile<i32> hi, const F& body, SourceLoc loc = SourceLoc::here()) {
  detail::counted(lo, hi, detail::NoState{}, body, loc);
}

// The body, if the condition holds. It is one for the whole tile; elementwise choice is where(...).
template <class C, class S, class F>
  requires Expression<detail::Plain<C>>
S when(C&& condition, const S& state, const F& body, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::UsedOnce<C>::ok);
  return detail::conditional(condition, state, body, loc);
}
template <class C, class F>
  requires Expression<detail::Plain<C>>
void when(C&& condition, const F& body, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::UsedOnce<C>::ok);
  detail::conditional(condition, detail::NoState{}, body, loc);
}

}  // namespace tessera
