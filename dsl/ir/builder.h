// Appends operations to a block: one checked factory per shape of op. Infers result types, keeps source locations.
//
// Arithmetic on scalar i32 and i1 folds as it is built (constants, x + 0, x * 1), and their constants are shared, so
// that index arithmetic comes out clean in stages that no simplify follows.
//
// Type errors that a user's program can cause (dtype mismatch, axes that do not contract) are UserErrors at `loc`;
// the typed shell (dsl/lang) catches most of them at compile time.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tessera/dsl/ir/ir.h>

namespace tessera::ir {

class Builder {
 public:
  // Appends to `block`, which must be `graph.entry` or a block being built by this or an enclosing builder.
  Builder(Graph& graph, Block& block, SourceLoc loc = {}) : graph_(&graph), block_(&block), loc_(loc) {}

  Graph& graph() const { return *graph_; }
  Block& block() const { return *block_; }
  const Type& type(Value v) const { return graph_->type(v); }
  void set_loc(SourceLoc loc) { loc_ = loc; }
  SourceLoc loc() const { return loc_; }

  // Leaves.
  Value constant(double number, Type type);
  Value constant(int number) { return constant(number, Type::scalar(DType::i32)); }
  Value iota(Dim dim);
  Value program_id(Axis axis);
  Value length(Axis axis);
  Value scalar(int param, DType dtype);
  Value position(Dim dim, Value tile = {});  // tile: the handle, for looped axes
  // Digits `from` to `to` of the tokens of an order's tile, as a number.
  Value position_digits(Dim dim, Value tile, std::size_t from, std::size_t to);
  // The tile whose digits start at `firsts`, in order `number` of `axis`; and which of its places are tokens.
  Value tile_at(Axis axis, int number, std::span<const Value> firsts);
  Value exists(Dim dim, Value tile, Value end = {});
  Value allowed(int function, Dim query, Dim key, Value tile);
  Value apply(int function, Value tile, std::span<const Value> values);  // result: type of values[0]

  // Elementwise; operands broadcast by name, dtypes must be equal.
  Value unary(OpCode code, Value a);
  Value binary(OpCode code, Value a, Value b);  // arithmetic, logic and comparisons
  Value select(Value condition, Value a, Value b);
  Value fma(Value a, Value b, Value c);
  Value cast(Value a, DType to);
  Value broadcast(Value a, std::vector<Dim> dims);

  // Scalar i32 helpers that fold constants as they build, for index arithmetic in passes.
  Value add(Value a, Value b) { return binary(OpCode::add, a, b); }
  Value sub(Value a, Value b) { return binary(OpCode::sub, a, b); }
  Value mul(Value a, Value b) { return binary(OpCode::mul, a, b); }
  Value add(Value a, int b);
  Value mul(Value a, int b);
  Value div(Value a, int b);  // floor
  Value min(Value a, Value b) { return binary(OpCode::min, a, b); }
  Value max(Value a, Value b) { return binary(OpCode::max, a, b); }

  Value reduce(OpCode code, Value a, Axis axis);
  Value dot(Value a, Value b, Value c = {});  // f32; contracts the one shared axis

  // Memory. `coordinates` as ir.h says for the stage; `type` is the tile that is read.
  Value load(int param, Type type, std::span<const Value> coordinates, Axis bounded = {});
  void store(int param, Value value, std::span<const Value> coordinates);
  Value gather(int param, DType dtype, std::span<const Value> indices);

  // Control. `body` gets a builder for the region and the region's arguments, and returns what to yield.
  using Body = std::function<std::vector<Value>(Builder&, std::span<const Value> args)>;
  std::vector<Value> loop(Value lo, Value hi, std::span<const Value> init, std::span<const std::string> names,
                          const Body& body);
  std::vector<Value> over(Axis axis, int function, Value bound, std::span<const Value> init,
                          std::span<const std::string> names, const Body& body);
  std::vector<Value> when(Value condition, std::span<const Value> init, std::span<const std::string> names,
                          const Body& body);
  std::vector<Value> programs(std::span<const Value> init, std::span<const std::string> names, const Body& body);
  void yield(std::span<const Value> values);

  // Any op, with result types given: what passes and the placed stage use. Returns the op, whose results are filled in.
  // The reference is valid until the next op is appended to the block.
  Op& append(OpCode code, std::vector<Value> operands, std::vector<Type> results = {});
  Value append_value(OpCode code, std::vector<Value> operands, Type result);

  // The number a scalar constant holds, if it was made by this builder or by one of those around it.
  std::optional<double> constant_of(Value v) const;

  // A builder for a region of an op that will be appended to this block once the region is done, and the appending.
  Builder inside(Block& region) const;
  Op& push(Op op);

 private:
  Block region(OpCode code, std::vector<Value> args, std::span<const Value> init, std::span<const std::string> names,
               const Body& body);
  std::vector<Value> region_op(Op op, std::span<const Value> init, std::span<const std::string> names);
  Value scalar_constant(double number, DType t);
  std::optional<Value> folded(OpCode code, Value a, Value b, DType result);
  Type elementwise_type(OpCode code, Value a, Value b, DType result) const;
  void need_dtype(OpCode code, Value a) const;

  Graph* graph_;
  Block* block_;
  SourceLoc loc_;
  const Builder* outer_ = nullptr;  // of the region that this block's op is built in
};

}  // namespace tessera::ir
