// Reading and writing tensors. An axis is one of three things in a program: on the grid (the program's own tile of it),
// looped over (the loop's tile, which load and store are given), or whole. A load binds at once: it is one op where it
// is written.
//
//   load(a.q)             the program's rows, every column
//   load(a.k, t)          the rows of the loop's tile t
//   store(a.o, x)         what lies outside the tensor is not written; a load reads 0 there
#pragma once

#include <array>

#include <tessera/dsl/lang/arguments.h>
#include <tessera/dsl/lang/position.h>

namespace tessera {

namespace detail {
template <DType T, class... A>
void as_input(const In<traced, T, A...>&);
template <DType T, class... A>
void as_output(const Out<traced, T, A...>&);
template <class X>
concept Input = requires(const X& x) { as_input(x); };
template <class X>
concept Output = requires(const X& x) { as_output(x); };
template <class X>
concept AnyArgument = requires { X::is_output; };
template <class X>
inline constexpr bool is_tile_index = false;
template <class A>
inline constexpr bool is_tile_index<TileIndex<A>> = true;
}  // namespace detail

namespace check {
template <class From>
struct Loads {
  static_assert(detail::Input<From>,
                "load reads an In argument of the program, as in load(a.q): its kernel takes Args<traced> a");
  static constexpr bool ok = true;
};
template <class To>
struct Stores {
  static_assert(
      detail::Output<To>,
      "store writes an Out argument of the program, and takes it first, as in store(a.o, x): its kernel takes "
      "Args<traced> a");
  static constexpr bool ok = true;
};
template <class Place>
struct LoadsTile {
  static_assert(detail::is_tile_index<Place>,
                "load is given the loop's tile, which is what the body of loop<Key> and over<Key> takes first: "
                "load(a.k, t)");
  static constexpr bool ok = true;
};
template <class Tiled, class Argument>
struct TileOfArgument {
  static_assert(detail::has_axis<Tiled, Argument>, "this argument does not have the axis of the tile it is given");
  static constexpr bool ok = true;
};
template <class Stored, class Output>
struct StoresAxes {
  static_assert(detail::same_axes<Stored, Output>, "store: the value and the output have different axes");
  static constexpr bool ok = true;
};
template <DType Stored, DType Output>
struct StoresDtype {
  static_assert(Stored == Output, "store: the value has another dtype than the output: cast it, as in cast<bf16>(x)");
  static constexpr bool ok = true;
};
}  // namespace check

template <DType T, class... A>
Tile<T, A...> load(const In<traced, T, A...>& from, SourceLoc loc = SourceLoc::here()) {
  return Tile<T, A...>::of(detail::load(from.index, detail::dims(Axes<A...>{}), {}, loc));
}

template <DType T, class... A, class B>
Tile<T, A...> load(const In<traced, T, A...>& from, const TileIndex<B>& tile, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::TileOfArgument<B, Axes<A...>>::ok);
  const detail::TileRef ref{detail::axis<B>(), tile.handle()};
  return Tile<T, A...>::of(detail::load(from.index, detail::dims(Axes<A...>{}), {&ref, 1}, loc));
}

template <DType T, class... A, class B, class C>
Tile<T, A...> load(const In<traced, T, A...>& from, const TileIndex<B>& first, const TileIndex<C>& second,
                   SourceLoc loc = SourceLoc::here()) {
  static_assert(check::TileOfArgument<B, Axes<A...>>::ok && check::TileOfArgument<C, Axes<A...>>::ok);
  const std::array refs{detail::TileRef{detail::axis<B>(), first.handle()},
                        detail::TileRef{detail::axis<C>(), second.handle()}};
  return Tile<T, A...>::of(detail::load(from.index, detail::dims(Axes<A...>{}), refs, loc));
}

// What load and store are not.
template <class X, class... Rest>
  requires(detail::AnyArgument<X> && !detail::Input<X>)
Tile<f32> load(const X&, const Rest&...) {
  static_assert(check::Loads<X>::ok);
  return 0;
}
template <DType T, class... A, class Place>
  requires(!detail::is_tile_index<Place> && !std::same_as<Place, SourceLoc>)
Tile<T, A...> load(const In<traced, T, A...>&, const Place&) {
  static_assert(check::LoadsTile<Place>::ok);
  return 0;
}
template <class X, class... Rest>
  requires((detail::AnyArgument<X> || Expression<X>) && !detail::Output<X> && sizeof...(Rest) > 0)
void store(const X&, const Rest&...) {
  static_assert(check::Stores<X>::ok);
}

namespace detail {
template <DType T, class... A, class E>
Handle stored(E&& value, SourceLoc loc) {
  auto x = operand<T>(value);
  using X = decltype(x);
  static_assert(check::UsedOnce<E>::ok);
  static_assert(check::StoresDtype<X::dtype, T>::ok);
  static_assert(check::StoresAxes<typename X::axes, Axes<A...>>::ok);
  return x.lower(loc);
}
}  // namespace detail

template <DType T, class... A, class E>
  requires detail::Operand<E>
void store(const Out<traced, T, A...>& to, E&& value, SourceLoc loc = SourceLoc::here()) {
  detail::store(to.index, detail::stored<T, A...>(std::forward<E>(value), loc), {}, loc);
}

template <DType T, class... A, class B, class E>
  requires detail::Operand<E>
void store(const Out<traced, T, A...>& to, const TileIndex<B>& tile, E&& value, SourceLoc loc = SourceLoc::here()) {
  static_assert(check::TileOfArgument<B, Axes<A...>>::ok);
  const detail::TileRef ref{detail::axis<B>(), tile.handle()};
  detail::store(to.index, detail::stored<T, A...>(std::forward<E>(value), loc), {&ref, 1}, loc);
}

}  // namespace tessera
