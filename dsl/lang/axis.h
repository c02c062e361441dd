// Axes are types: Tile<f32, Query, Key> says in its C++ type what its rows and columns are, so a contraction of the
// wrong axes does not compile. How long an axis is, and how it is cut into tiles, is not known here.
//
// A list of axes keeps the order it was written in and is compared as a set.
#pragma once

#include <type_traits>
#include <vector>

#include <tessera/dsl/ir/types.h>

// An axis of the user's own, at namespace or function scope: TESSERA_AXIS(Channel);
#define TESSERA_AXIS(Name)                                     \
  struct Name {                                                \
    static constexpr const char* axis_name() { return #Name; } \
  }

namespace tessera {

TESSERA_AXIS(Query);
TESSERA_AXIS(Key);
TESSERA_AXIS(Depth);
TESSERA_AXIS(Value);
TESSERA_AXIS(Batch);
TESSERA_AXIS(Head);
TESSERA_AXIS(KvHead);

template <class A>
concept AxisType = requires { A::axis_name(); };

template <class... A>
struct Axes {
  static constexpr int rank = sizeof...(A);
};

namespace detail {

template <class A, class List>
inline constexpr bool has_axis = false;
template <class A, class... B>
inline constexpr bool has_axis<A, Axes<B...>> = (std::is_same_v<A, B> || ...);

template <class List, class In>
inline constexpr bool subset = false;
template <class... A, class In>
inline constexpr bool subset<Axes<A...>, In> = (has_axis<A, In> && ...);

template <class A, class B>
inline constexpr bool same_axes = subset<A, B> && subset<B, A>;

template <class List>
inline constexpr bool distinct = true;
template <class A, class... B>
inline constexpr bool distinct<Axes<A, B...>> = !has_axis<A, Axes<B...>> && distinct<Axes<B...>>;

template <class... Lists>
struct Concat {
  using type = Axes<>;
};
template <class... A>
struct Concat<Axes<A...>> {
  using type = Axes<A...>;
};
template <class... A, class... B, class... Rest>
struct Concat<Axes<A...>, Axes<B...>, Rest...> : Concat<Axes<A..., B...>, Rest...> {};
template <class... Lists>
using concat = typename Concat<Lists...>::type;

// The axes of List that are in Other (Wanted = true), or that are not (false), in List's order.
template <class List, class Other, bool Wanted>
struct Filter;
template <class... A, class Other, bool Wanted>
struct Filter<Axes<A...>, Other, Wanted> {
  using type = concat<std::conditional_t<has_axis<A, Other> == Wanted, Axes<A>, Axes<>>...>;
};
template <class List, class Other>
using common = typename Filter<List, Other, true>::type;
template <class List, class Other>
using without = typename Filter<List, Other, false>::type;

// Of two lists, the one that contains the other; the first where neither does.
template <class A, class B>
using wider = std::conditional_t<!subset<B, A> && subset<A, B>, B, A>;

template <AxisType A>
ir::Axis axis() {
  return ir::Axis::named(A::axis_name());
}
template <class... A>
std::vector<ir::Axis> axes(Axes<A...>) {
  return {axis<A>()...};
}
template <class... A>
std::vector<ir::Dim> dims(Axes<A...>) {
  return {ir::Dim{axis<A>(), 0}...};
}

}  // namespace detail

}  // namespace tessera
