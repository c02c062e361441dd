// Side tables of masks and scores: immutable arrays that a predicate reads by position.
//
//   Table doc(std::vector<int>{0, 0, 1, 1});           doc[q] == doc[k]
//   Table bits(values, 32, 64);                        bits(q / 128, k / 128) != 0, and not bits[q, k]
//   Table slopes(std::vector<float>{0.5f, 0.25f});     slopes[at.head] * cast<f32>(k - q)
//   Table<f32, 4> bias("bias");                        bias(at.batch, at.head, q, k): data given at the call as "bias"
//
// Captured data is known to the geometry; data given at the call (which may live on the device) is not, and every tile
// evaluates a predicate that reads it. A read beyond an end gives the nearest element.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tessera/dsl/lang/position.h>

namespace tessera {

namespace detail {

// An index as it is written between the brackets, with its line.
struct TableIndex {
  Handle handle;
  SourceLoc loc;
  template <class E>
    requires Operand<E>
  TableIndex(E&& e, SourceLoc at = SourceLoc::here()) : loc(at) {
    static_assert(check::UsedOnce<E>::ok);
    auto x = operand<i32>(e);
    static_assert(decltype(x)::dtype == i32, "a table is read at i32 positions: cast<i32>(x)");
    static_assert(decltype(x)::axes::rank == 0,
                  "a Table is read at one position, inside a mask or score (a kernel reads a Lookup argument)");
    handle = x.lower(loc);
  }
};

// An element that is read. The table becomes a parameter when the expression around this is lowered, left to right, so
// that the order of parameters does not depend on the order in which a compiler evaluates operands.
template <DType T>
struct TableRead : NoBranch<TableRead<T>> {
  using axes = Axes<>;
  static constexpr DType dtype = T;
  using bound_value = void;
  TableSource table;
  std::vector<Handle> at;
  SourceLoc loc;

  TableRead(TableSource source, std::vector<Handle> indices, SourceLoc l)
      : table(std::move(source)), at(std::move(indices)), loc(l) {}
  Handle lower(SourceLoc) const { return gather(table, at, loc); }
};

std::shared_ptr<const mask::TableData> table_data(std::vector<int> values, std::vector<std::int64_t> shape,
                                                  SourceLoc loc);
std::shared_ptr<const mask::TableData> table_data(std::vector<float> values, std::vector<std::int64_t> shape,
                                                  SourceLoc loc);

}  // namespace detail

namespace check {
template <class N>
struct TableOf {
  static_assert(std::same_as<N, int> || std::same_as<N, float>,
                "a Table is made of a std::vector<int> or a std::vector<float>: convert the values, as in "
                "std::vector<float>(v.begin(), v.end())");
  static constexpr bool ok = true;
  static constexpr DType dtype = std::is_floating_point_v<N> ? f32 : i32;
};
}  // namespace check

template <DType T, int Rank = 1>
class Table {
  static_assert(T == i32 || T == f32, "a Table holds i32 or f32");
  static_assert(Rank >= 1 && Rank <= 4, "a Table has one to four dimensions");

 public:
  // Data given at the call, under this name: letters, digits and underscores.
  explicit Table(std::string name, SourceLoc loc = SourceLoc::here()) : source_{nullptr, std::move(name), T, Rank} {
    detail::check_name("a Table", source_.name, loc);
  }
  // Captured data. The values of a table of two dimensions are its rows, one after the other.
  explicit Table(std::vector<std::conditional_t<T == i32, int, float>> values, SourceLoc loc = SourceLoc::here())
    requires(Rank == 1)
      : Table(detail::table_data(values, {static_cast<std::int64_t>(values.size())}, loc)) {}
  Table(std::vector<std::conditional_t<T == i32, int, float>> values, std::int64_t rows, std::int64_t columns,
        SourceLoc loc = SourceLoc::here())
    requires(Rank == 2)
      : Table(detail::table_data(std::move(values), {rows, columns}, loc)) {}

  // Of numbers of another type.
  template <class N, class... Extents>
    requires(!std::same_as<N, std::conditional_t<T == i32, int, float>>)
  explicit Table(const std::vector<N>&, const Extents&...) {
    static_assert(check::TableOf<N>::ok && detail::never<N>,
                  "a Table<i32> is made of a std::vector<int>, a Table<f32> of a std::vector<float>: convert the "
                  "values");
  }

  // The same table under a name, which is what a kernel's parameter is called.
  Table named(std::string name, SourceLoc loc = SourceLoc::here()) const {
    detail::check_name("a Table", name, loc);
    Table copy = *this;
    copy.source_.name = std::move(name);
    return copy;
  }

  detail::TableRead<T> operator[](detail::TableIndex i) const {
    static_assert(Rank == 1,
                  "a table of several dimensions is read by table(q, k): in C++20 table[q, k] means table[k]");
    return read({i.handle}, i.loc);
  }
  detail::TableRead<T> operator()(detail::TableIndex i) const
    requires(Rank == 1)
  {
    return read({i.handle}, i.loc);
  }
  detail::TableRead<T> operator()(detail::TableIndex i, detail::TableIndex j) const
    requires(Rank == 2)
  {
    return read({i.handle, j.handle}, i.loc);
  }
  detail::TableRead<T> operator()(detail::TableIndex i, detail::TableIndex j, detail::TableIndex k) const
    requires(Rank == 3)
  {
    return read({i.handle, j.handle, k.handle}, i.loc);
  }
  detail::TableRead<T> operator()(detail::TableIndex i, detail::TableIndex j, detail::TableIndex k,
                                  detail::TableIndex l) const
    requires(Rank == 4)
  {
    return read({i.handle, j.handle, k.handle, l.handle}, i.loc);
  }

 private:
  explicit Table(std::shared_ptr<const mask::TableData> data) : source_{std::move(data), {}, T, Rank} {}
  detail::TableRead<T> read(std::vector<detail::Handle> indices, SourceLoc loc) const {
    return {source_, std::move(indices), loc};
  }

  detail::TableSource source_;
};

Table(std::vector<int>) -> Table<i32, 1>;
Table(std::vector<float>) -> Table<f32, 1>;
template <std::integral R, std::integral C>
Table(std::vector<int>, R, C) -> Table<i32, 2>;
template <std::integral R, std::integral C>
Table(std::vector<float>, R, C) -> Table<f32, 2>;
template <class N, class... Extents>
Table(std::vector<N>, Extents...) -> Table<check::TableOf<N>::dtype, sizeof...(Extents) == 0 ? 1 : 2>;

}  // namespace tessera
