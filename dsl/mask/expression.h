// Scalar functions as an arena of hash-consed expressions: what the geometry computes with.
//
// Equal sub-expressions are one node, so they cancel and compare by index. Constants fold as nodes are made. Binding a
// position (head, batch, a length) or a scalar to a number is folding too: predicates that become the same node are the
// same class. Positions that an expression leaves free are read at a point, over a box, or emitted as code again.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/mask/numbers.h>
#include <tessera/dsl/mask/pointwise.h>

namespace tessera::mask {

// Position arguments of a function, then what a closed form knows of a query tile.
enum Position : int {
  at_q = ir::Function::q,
  at_k = ir::Function::k,
  at_head = ir::Function::head,
  at_batch = ir::Function::batch,
  at_query_length = ir::Function::query_length,
  at_key_length = ir::Function::key_length,
  at_first,  // of the query tile: first and last value of the outermost digit, in the identity order of the tokens
  at_last,
  at_key_bound,
  at_inner_digits,                      // first and last value of each further digit
  at_key_digits = at_inner_digits + 6,  // first and last value of each key digit in a key tile
  kPositionCount = at_key_digits + 8
};
inline int first_of(int query_digit) { return query_digit == 0 ? at_first : at_inner_digits + 2 * (query_digit - 1); }
inline int last_of(int query_digit) { return first_of(query_digit) + 1; }
inline int first_of_key(int key_digit) { return at_key_digits + 2 * key_digit; }
inline int last_of_key(int key_digit) { return first_of_key(key_digit) + 1; }

// A closed range of values. Integers are exact in a double; floats are rounded outwards.
struct Range {
  double lo, hi;
  bool is_point() const { return lo == hi; }
};

using PositionRanges = std::array<Range, kPositionCount>;
using PositionValues = std::array<std::optional<Int>, kPositionCount>;

class Expressions {
 public:
  using Id = int;

  struct Node {
    ir::OpCode op{};  // constant, position (index says which), scalar and gather (index: parameter), or elementwise
    DType dtype = DType::i32;
    std::array<Id, 4> in{-1, -1, -1, -1};
    int index = -1;
    double number = 0;
    unsigned depends = 0;  // bit per Position; bit kPositionCount: some scalar; next: some table
    friend bool operator<(const Node& a, const Node& b);
  };
  static constexpr unsigned on(int position) { return 1u << position; }

  // Expressions over the data of `source`, which must outlive this.
  explicit Expressions(const Pointwise& source, const std::vector<NamedScalar>& scalars = {});

  // No position or i32 scalar is larger, whatever the call. Before any expression is made.
  void limit(Int most);
  void limit(int position, Int most) { limits_[static_cast<std::size_t>(position)] = static_cast<double>(most); }

  // The body of the source's function. Positions that have a value are constants; so are scalars if `bind_scalars`.
  Id body(const PositionValues& bound, bool bind_scalars);

  Id constant(double number, DType dtype = DType::i32);
  Id position(int which);
  Id make(ir::OpCode op, DType dtype, std::array<Id, 4> in, int index = -1);

  // i32 arithmetic, folded with what is known of the ranges.
  Id add(Id a, Id b) { return make(ir::OpCode::add, DType::i32, {a, b, -1, -1}); }
  Id sub(Id a, Id b) { return make(ir::OpCode::sub, DType::i32, {a, b, -1, -1}); }
  Id mul(Id a, Int b) { return make(ir::OpCode::mul, DType::i32, {a, constant(static_cast<double>(b)), -1, -1}); }
  Id div(Id a, Int b) { return make(ir::OpCode::div, DType::i32, {a, constant(static_cast<double>(b)), -1, -1}); }
  Id min(Id a, Id b) { return make(ir::OpCode::min, DType::i32, {a, b, -1, -1}); }
  Id max(Id a, Id b) { return make(ir::OpCode::max, DType::i32, {a, b, -1, -1}); }
  Id compare(ir::OpCode op, Id a, Id b) { return make(op, DType::i1, {a, b, -1, -1}); }
  Id both(Id a, Id b) { return make(ir::OpCode::logical_and, DType::i1, {a, b, -1, -1}); }
  Id select(Id c, Id a, Id b) { return make(ir::OpCode::select, nodes_[a].dtype, {c, a, b, -1}); }

  const Node& operator[](Id id) const { return nodes_[id]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  bool is_constant(Id id) const { return nodes_[id].op == ir::OpCode::constant; }
  Int value(Id id) const { return static_cast<Int>(nodes_[id].number); }
  const TableData* table(int parameter) const;  // null when its data comes with the call
  double scalar(int parameter) const;
  const Pointwise& source() const { return source_; }

  // Every value `id` may take when positions range over `ranges`. Sound; exact at points for integer arithmetic.
  // `scratch` holds one range a node and is reused between calls.
  Range range(Id id, const PositionRanges& ranges, std::vector<Range>& scratch) const;
  Range static_range(Id id) const { return known_[id]; }
  bool may_wrap(const PositionRanges& ranges) const;  // some i32 operation of any node may leave i32
  // The same whatever the scalars: each has the value given to this, or any from -scalars to scalars.
  bool may_wrap(const PositionRanges& ranges, double scalars) const;

  std::string describe(Id id) const;  // as a user would write it: "doc[q] == doc[k]"

  // Emits `roots` into a function body; `arguments` by Position.
  std::vector<ir::Value> emit(const std::vector<Id>& roots, const std::array<ir::Value, kPositionCount>& arguments,
                              ir::Builder& into) const;

 private:
  Id intern(Node node);
  Id fold(const Node& node);
  Range range_of(const Node& node, const Range* in, const PositionRanges* ranges, bool* wraps = nullptr) const;

  const Pointwise& source_;
  std::vector<double> scalars_;
  std::vector<Node> nodes_;
  std::array<double, kPositionCount> limits_;
  double scalar_limit_ = static_cast<double>(kMaxIndex);
  std::vector<Range> known_;  // over all positions and scalars there may be
  std::map<Node, Id> index_;
};

// A root compiled for many points: the nodes it needs, in order.
class PointProgram {
 public:
  PointProgram(const Expressions& expressions, Expressions::Id root) : PointProgram(expressions, std::vector{root}) {}
  PointProgram(const Expressions& expressions, const std::vector<Expressions::Id>& roots);
  void run(const std::array<Int, kPositionCount>& positions, double* results);
  bool test(const std::array<Int, kPositionCount>& positions) {
    double r;
    run(positions, &r);
    return r != 0;
  }

 private:
  const Expressions& expressions_;
  std::vector<Expressions::Id> roots_, order_;
  std::vector<double> values_;
};

}  // namespace tessera::mask
