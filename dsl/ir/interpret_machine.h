// One thread of control through the code of a graph: what runs a kernel's program, a warpgroup's role, or a scalar
// function.
//
// The position is kept in an explicit stack of frames, not on the C++ stack, so that a machine can stop at an op that
// has to wait and go on from there: this is what lets the warpgroups of a placed kernel take turns.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tessera/dsl/ir/arguments.h>
#include <tessera/dsl/ir/interpret_memory.h>
#include <tessera/dsl/ir/interpret_value.h>

namespace tessera::ir::interp {

// What all programs of a call share.
struct Launch {
  const Kernel* kernel = nullptr;  // null while a function is evaluated on its own
  const std::vector<Param>* params = nullptr;
  const std::vector<Argument>* arguments = nullptr;
  const Binding* binding = nullptr;
  int tile = 0;               // stage traced: tokens a tile
  std::vector<Axis> outer{};  // outer_axes of the kernel
};

struct Program {
  const Launch* launch = nullptr;
  std::vector<std::int64_t> ids;  // along each grid axis
};

// What a value of a type other than a tile refers to.
struct Reference {
  int object = -1;          // ring, barrier or order, by number
  std::int32_t ticket = 0;  // views
  std::vector<int> starts;  // views: first row along each dim of the ring's tile; tiles of an order: tile_at's operands
};

struct Item {
  Tile tile;
  Reference reference{};
  std::int64_t written = 0;  // stage placed: when the registers that hold it were last written, in ops of the warpgroup
  std::int64_t group = 0;    // stage placed: the group of products that computes it; 0: none
};

class Machine;

// What a machine asks of the block it runs in (stage placed).
class Team {
 public:
  virtual ~Team() = default;
  virtual bool execute(Machine& machine, const Op& op) = 0;  // false: it has to wait, try again later
  virtual const Tile& read(Machine& machine, const Op& op, Value operand) = 0;  // refuses registers that are not ready
  virtual int group(const Machine& machine) const = 0;
  virtual const std::vector<std::int64_t>* program(std::int64_t turn) = 0;  // the block's `turn`-th; null: no more
};

class Machine {
 public:
  // `first_param`: which of the launch's parameters the graph's number 0 is.
  Machine(const Program& program, const Graph& graph, Team* team = nullptr, std::size_t first_param = 0)
      : program_(program), ids_(&program.ids), graph_(graph), team_(team), first_param_(first_param) {
    items_.resize(graph.values.size());
  }

  void start(const Block& block, std::vector<Item> arguments = {});
  bool run();                                                    // to the end: true; to an op that has to wait: false
  const std::vector<Item>& yielded() const { return yielded_; }  // by the block that was started, once it has ended

  const Graph& graph() const { return graph_; }
  const Program& program() const { return program_; }
  std::int64_t steps() const { return steps_; }
  Item& item(Value value) { return items_[value.id]; }
  const Tile& tile(const Op& op, std::size_t operand);
  std::int32_t integer(const Op& op, std::size_t operand) { return tile(op, operand).integer(); }
  void set(Value value, Tile tile) { items_[value.id] = {std::move(tile), {}, steps_, 0}; }
  Place place_of(const Op& op, std::size_t first);   // coordinates: the operands from `first` on
  std::vector<Dim> dims_of(const Type& type) const;  // with the extents that symbolic axes have here
  void adopt(const Machine& other);                  // the values, and the time, of a machine on the same graph

 private:
  // The region of `owner` that is being run; of loops, the trip `at` of those up to `end`.
  struct Frame {
    const Block* block;
    const Op* owner = nullptr;
    std::int64_t at = 0, end = 0;
    std::size_t next = 0;           // op of the block
    std::optional<Tile> allowed{};  // over: the mask on the current tile, over (query axis, looped axis)
  };
  // Stage traced: the tile of a looped axis that code is inside of.
  struct Window {
    Axis axis;
    std::int64_t start;
    int extent;
  };

  bool execute(const Op& op);
  void leaf(const Op& op);
  void compute(const Op& op);
  void memory(const Op& op);
  OrderedTile ordered_tile(Value handle) const;
  Tile places(const Op& op);
  std::size_t param_of(const Op& op) const { return first_param_ + static_cast<std::size_t>(op.index); }

  // interpret_control.cpp
  void control(const Op& op);
  void begin(Frame frame, std::vector<Item> carried);
  void end(std::vector<Item> values);
  bool next_trip(Frame& frame);
  bool next_tile(Frame& frame);
  std::int64_t id(Axis axis) const;  // of the program being run; 0 for an axis that is not in the grid
  std::vector<Item> items_of(const std::vector<Value>& values, std::size_t first = 0);

  // interpret_mask.cpp
  Tile call(int function, std::vector<Item> arguments);
  std::vector<Item> positions(Axis query, const Frame& over) const;
  Tile mask_on(int function, Axis query, const Frame& over);
  Tile allowed(const Op& op);
  Tile apply(const Op& op);
  Tile position(Axis axis) const;
  Axis query_axis() const;
  const Frame& over_of(Value handle) const;
  Window window(Axis axis) const;

  const Program& program_;
  const std::vector<std::int64_t>* ids_;  // of the program being run
  const Graph& graph_;
  Team* team_;
  std::size_t first_param_;
  std::vector<Item> items_;  // by Value::id
  std::vector<Frame> frames_;
  std::vector<Window> windows_;  // innermost loop last
  std::vector<Item> yielded_;
  std::vector<std::unique_ptr<Machine>> functions_;  // of the kernel, made when first called
  std::int64_t steps_ = 0;
};

}  // namespace tessera::ir::interp
