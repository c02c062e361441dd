// The intermediate representation: SSA values, operations, structured regions, kernels.
//
// Everything is plain data held by value: a Kernel copies like an int vector, passes take a `const Kernel&` and return
// a new one, and nothing is ever shared or mutated behind a reader's back. A Value is an index into its graph's table.
//
// Meaning (the interpreter, ir/interpret.h, is the definition):
// - A program instance computes one tile of every *grid* axis. Instances are independent and run in any order.
// - i32 wraps. f16 and bf16 round to nearest even when produced by cast; arithmetic on them is done in f32 and rounded.
// - Ops without effects may be duplicated, reordered and dropped. Effects (store, and every placed op) keep their
// order.
// - Three stages, each a subset of the ops (ir/verify.h, `legal`):
//     traced  axes are symbolic, `over` walks the tiles a mask needs
//     tiled   every axis has an extent, tiles are walked by `loop`, masks are elementwise ops on partial tiles
//     placed  tiles have layouts; shared memory, copies, barriers and roles are explicit
//
// Operands of load and store:
//   traced  load(q)              grid axes at the program's tile, other axes whole
//           load(k, %t)          the looped axis at tile %t
//   tiled   load(k, s0, s1)      one start (i32, tokens) per axis of the parameter, in the parameter's order
//           load(k, s0, s1, n)   the same; positions >= n along `op.axis` read as 0 whatever is in memory
//           load(k, %t, s1)      where tiles of an axis are cut in a token order (ir/order.h): a handle made by tile_at
//   store has its value first. Grid axes that the parameter does not list (Head, Batch) are implicit in every stage:
//   the tensor is read at the program's own index along them, divided by the tensor's group (GQA), or at 0 if the
//   tensor has extent 1 there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/dsl/ir/order.h>
#include <tessera/dsl/ir/types.h>

namespace tessera::ir {

enum class OpCode : std::uint8_t {
#define TESSERA_OP(name, operands, kind, stages) name,
#include <tessera/dsl/ir/ops.def>
#undef TESSERA_OP
};

enum class OpKind : std::uint8_t { leaf, unary, binary, compare, ternary, reduce, tile, memory, control, placed };
enum class Stage : std::uint8_t { traced, tiled, placed };

struct OpInfo {
  std::string_view name;
  int operands;  // -1: varies
  OpKind kind;
  unsigned stages;  // bit per Stage
};
const OpInfo& info(OpCode code);
bool is_elementwise(OpCode code);  // unary, binary, compare, ternary
bool has_region(OpCode code);
bool has_effect(const struct Op& op);  // must not be dropped, duplicated or reordered against other effects
std::string_view to_string(Stage stage);

struct Value {
  std::uint32_t id = UINT32_MAX;
  explicit operator bool() const { return id != UINT32_MAX; }
  friend bool operator==(Value, Value) = default;
};

struct Op;

// `args` are the region's own values: loop index or tile handle first, then the carried values.
struct Block {
  std::vector<Value> args{};
  std::vector<Op> ops;
};

struct Op {
  OpCode code{};
  std::vector<Value> operands{};
  std::vector<Value> results{};
  std::vector<Block> regions{};
  Axis axis{};        // iota, program_id, length, position, reduce_*, dot, over, rows; load: the axis of the bound
  int index = -1;     // parameter, function, role, order, or the small number the op table names
  double number = 0;  // constant; expect: bytes
  SourceLoc loc{};
};

struct ValueInfo {
  Type type;
  std::string name;  // what the user called it ("row_max"); empty for temporaries
};

// A value table and the code that defines its values. The base of kernels and of scalar functions.
struct Graph {
  std::vector<ValueInfo> values;
  Block entry;

  const Type& type(Value v) const { return values[v.id].type; }
  const std::string& name_of(Value v) const { return values[v.id].name; }
  Value add_value(Type type, std::string name = {});
};

enum class ParamKind : std::uint8_t {
  input,   // tensor, read
  output,  // tensor, written
  scalar,  // a number given at launch
  table,   // a side table: contiguous array of known rank, read by gather
};

struct Param {
  std::string name;
  ParamKind kind = ParamKind::input;
  DType dtype = DType::f32;
  std::vector<Axis> axes;  // tensors: the listed axes, outermost first. Tables: empty
  int rank = 0;            // tables: dimensions. Tensors: axes.size()
  bool indices = false;    // tables: of tile numbers of the call, whose tokens it has: sums of few do not overflow
};

// A scalar function of positions: a mask predicate or a score map. Entry arguments are, in this order,
//   i32 q, i32 k (token indices), i32 h, i32 b (head and batch), then `lengths`: i32 query length, i32 key length,
//   then the values it maps (none for a mask).
// The key length is that of the axis: a bound on the keys cuts them off and moves nothing.
// The entry block ends in a yield of one value. All values are scalars. `params` are the tables and scalars it reads:
// its gather and scalar ops index this list. A traced kernel is called with its own parameters, then with those of
// functions[0], functions[1], ...; tile_by_mask appends them to the kernel's own in that order.
struct Function {
  std::string name;
  Graph graph;
  std::vector<Param> params;
  int result_arguments() const { return static_cast<int>(graph.entry.args.size()) - kPositions; }

  enum : int { q, k, head, batch, query_length, key_length, kPositions };
};

// A group of warpgroups that runs one role region (stage placed).
struct Role {
  std::string name;
  int warpgroups = 1;
  int registers = 0;  // per thread, by setmaxnreg; 0: as at entry
};

// How the programs of a launch are numbered, which is the order in which blocks take them. By default the first grid
// axis varies fastest. In sections, `section` programs of the other axes (heads, then batches) take turns: all of them
// at one place of the first axis, then all at the next, so that the order along the first axis is that of a whole
// section.
struct WorkOrder {
  int section = 0;          // 0: no sections
  bool descending = false;  // the first axis from its end: where later tiles have more work, the longest come first
  friend bool operator==(const WorkOrder&, const WorkOrder&) = default;
};

struct Kernel : Graph {
  std::string name;
  Stage stage = Stage::traced;
  // Outermost last: [Query, Head, Batch]. Those that tensors list are tiled, the others step by 1.
  std::vector<Axis> grid;
  std::vector<Dim> grid_tiles;    // stage tiled on: tile extent of each grid axis (1 for Head, Batch)
  std::vector<AxisOrder> orders;  // stage tiled on: token orders other than the identity, by number
  std::vector<int> grid_orders;   // the order in which tiles of each grid axis are cut, -1: identity. Empty: all are
  WorkOrder order;                // changes no result
  std::vector<Param> params;
  std::vector<Function> functions;  // stage traced: what allowed and apply refer to
  std::vector<Dim> whole;           // stage tiled on: true extents of whole axes (Depth:120 where tiles have Depth:128)
  std::vector<Role> roles;          // stage placed
  int threads = 0;                  // stage placed: of a block
  int blocks = 1;                   // stage placed: that a multiprocessor runs at once

  const Dim* whole_extent(Axis axis) const;                                   // null unless `axis` is whole
  const AxisOrder* grid_order(std::size_t grid_axis) const;                   // null: identity
  std::int64_t grid_count(std::size_t grid_axis, std::int64_t length) const;  // programs along it
};

// The grid axis whose tokens are a mask's queries: Query if the grid has it, else the first grid axis that tensors
// list. No axis if there is neither. The order of the grid has no other say in what a kernel computes.
Axis query_axis(const Kernel& kernel);

// The index along each grid axis of program `number`, given how many programs each axis has.
std::vector<std::int64_t> program_at(const WorkOrder& order, std::int64_t number,
                                     const std::vector<std::int64_t>& counts);

// The op that takes programs from the launch, null if each block runs one.
const Op* find_programs(const Kernel& kernel);

// The producer of each value: index by Value::id. Null for region arguments. Valid while the graph is not changed.
std::vector<const Op*> definitions(const Graph& graph);

}  // namespace tessera::ir
