// Structs whose fields the language can walk, by Boost.Hana: kernel arguments and loop-carried state. The struct stays
// an aggregate, so it is made by {a, b, c} or {.x = a}. Only this file and arguments.h know that Hana is underneath.
//
//   struct OnlineSoftmax { TESSERA_STRUCT(OnlineSoftmax, (Tile<f32, Query>, row_max), (Tile<f32, Query>, row_sum)); };
#pragma once

#include <span>
#include <string>
#include <vector>

#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/core/to.hpp>
#include <boost/hana/define_struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/for_each.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/tuple.hpp>

#include <tessera/dsl/lang/tile.h>

#define TESSERA_STRUCT(...) BOOST_HANA_DEFINE_STRUCT(__VA_ARGS__)

namespace tessera::detail {

namespace hana = boost::hana;

// Calls visit(name, field) on every field, in the order in which they were written.
template <class Struct, class Visit>
void for_each_field(Struct& s, Visit&& visit) {
  hana::for_each(hana::accessors<std::remove_const_t<Struct>>(), [&](auto accessor) {
    visit(hana::to<char const*>(hana::first(accessor)), hana::second(accessor)(s));
  });
}

// The types of the fields of S, in order. (A type list and not a lambda in decltype: clang 14 cannot precompile those.)
template <class... F>
struct Fields {};
template <class S, class Accessors>
struct FieldsOf;
template <class S, class... P>
struct FieldsOf<S, hana::tuple<P...>> {
  using type = Fields<Plain<decltype(hana::second(std::declval<P>())(std::declval<S&>()))>...>;
};
template <class S>
struct StateFields : FieldsOf<S, Plain<decltype(hana::accessors<S>())>> {};
template <DType T, class... A>
struct StateFields<Tile<T, A...>> {
  using type = Fields<Tile<T, A...>>;
};

template <class S>
inline constexpr bool are_tiles = false;
template <class... F>
inline constexpr bool are_tiles<Fields<F...>> = (is_tile<F> && ...);
template <class A, class S>
inline constexpr bool lack_axis = false;
template <class A, class... F>
inline constexpr bool lack_axis<A, Fields<F...>> = (!has_axis<A, typename F::axes> && ...);

template <class S>
constexpr bool all_tiles() {
  if constexpr (is_tile<S> || hana::Struct<S>::value) {
    return are_tiles<typename StateFields<S>::type>;
  } else {
    return false;
  }
}
// No field of S has the axis.
template <class S, class A>
constexpr bool lacks_axis() {
  if constexpr (all_tiles<S>()) {
    return lack_axis<A, typename StateFields<S>::type>;
  } else {
    return true;
  }
}

// A carried state as a list of values: the fields of a struct, or one Tile.
template <class S>
std::vector<Handle> state_handles(const S& state, SourceLoc loc) {
  std::vector<Handle> handles;
  auto add = [&](const auto& tile) {
    handles.push_back(in_order(tile.lower(loc), dims(typename Plain<decltype(tile)>::axes{}), loc));
  };
  if constexpr (is_tile<S>) {
    add(state);
  } else {
    for_each_field(state, [&](const char*, const auto& tile) { add(tile); });
  }
  return handles;
}

template <class S>
std::vector<std::string> state_names() {
  if constexpr (is_tile<S>) {
    return {""};
  } else {
    std::vector<std::string> names;
    hana::for_each(hana::accessors<S>(), [&](auto p) { names.push_back(hana::to<char const*>(hana::first(p))); });
    return names;
  }
}

template <class S>
S state_from(std::span<const Handle> handles) {
  if constexpr (is_tile<S>) {
    return S::of(handles.front());
  } else {
    return [&]<class... F>(Fields<F...>) {
      std::size_t i = 0;
      return S{F::of(handles[i++])...};  // braces: left to right
    }(typename StateFields<S>::type{});
  }
}

}  // namespace tessera::detail
