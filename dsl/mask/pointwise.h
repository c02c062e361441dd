// A scalar function of positions together with the data it captured: what a mask or a score map is once it is written.
//
// The typed shell (dsl/lang) builds these from lambdas; the geometry (this folder) reads them; the facade gives their
// captures to the kernel. Composition never looks at the data, so masks over different tables compose.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera::mask {

// An immutable host array with a content hash: part of a plan's key, not of the kernel's.
class TableData {
 public:
  static std::shared_ptr<const TableData> make(std::vector<std::int32_t> values, std::vector<std::int64_t> shape);
  static std::shared_ptr<const TableData> make(std::vector<float> values, std::vector<std::int64_t> shape);

  DType dtype() const { return dtype_; }  // i32 or f32
  const std::vector<std::int64_t>& shape() const { return shape_; }
  const void* data() const;
  std::uint64_t hash() const { return hash_; }
  double at(
      const std::vector<std::int64_t>& index) const;  // each index clamped into range; 0 from a table of no elements
  std::int64_t size() const {
    return static_cast<std::int64_t>(dtype_ == DType::i32 ? integers_.size() : floats_.size());
  }
  double element(std::int64_t flat) const { return dtype_ == DType::i32 ? integers_[flat] : floats_[flat]; }
  const class TableRanges& ranges() const;  // minima and maxima (mask/table_ranges.h), made when first asked for

 private:
  TableData();
  DType dtype_ = DType::i32;
  std::vector<std::int64_t> shape_;
  std::vector<std::int32_t> integers_;
  std::vector<float> floats_;
  std::uint64_t hash_ = 0;
  mutable std::once_flag ranges_once_;
  mutable std::shared_ptr<const TableRanges> ranges_;
};

// What stands behind one parameter of the function.
struct Capture {
  std::shared_ptr<const TableData>
      table;         // tables: null when the data is given at the call, under the parameter's name
  double value = 0;  // scalars: the default, replaced at the call under the parameter's name
};

// How many queries and keys a predicate is made for, where it means nothing for others: those of a grid, say.
struct Extent {
  std::int64_t least = 0, most = INT64_MAX;
  static Extent exactly(std::int64_t n) { return {n, n}; }
  static Extent at_most(std::int64_t n) { return {0, n}; }
};
struct LengthRule {
  std::string of;  // what has these lengths: "the grid 30 x 48 x 80"
  Extent queries, keys;
};

struct Pointwise {
  ir::Function function;
  std::vector<Capture> captures;      // one a parameter of the function
  SourceLoc loc{};                    // where the user wrote it
  std::vector<LengthRule> lengths{};  // all of them hold for a call

  bool data_at_call() const;  // some table's contents are known only at the call: no geometry from it
};

// Predicates. Captures of both sides are kept; equal captures (same table, same named scalar) become one parameter.
Pointwise both(const Pointwise& a, const Pointwise& b);
Pointwise either(const Pointwise& a, const Pointwise& b);
Pointwise negated(const Pointwise& a);
Pointwise everything();  // the mask that allows all

// UserError at `loc` for lengths that the predicate is not made for. Asked for every call; plans may be made for
// others, to compare tiles.
void check_lengths(const Pointwise& predicate, std::int64_t queries, std::int64_t keys, SourceLoc loc);

// Value at one point. `scalars` overrides defaults by name: {{"left", 128}}.
struct NamedScalar {
  std::string name;
  double value;
};
struct Point {
  std::int64_t q, k;
  std::int64_t head = 0, batch = 0, query_length = 0, key_length = 0;
};
bool allows(const Pointwise& predicate, const Point& point, const std::vector<NamedScalar>& scalars = {});

}  // namespace tessera::mask
