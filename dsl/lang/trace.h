// What happens while a program is traced: the graph under construction and the checked, untyped operations that the
// typed shell erases to. Nothing here is a template, so that an operator in a user's program costs one call.
//
// A trace belongs to a thread. Traces nest: a mask written inside a kernel is traced while the kernel is. Every value
// remembers its trace and the region that made it, so that a value used in another trace, or after its region has
// ended, is refused with the user's line instead of making a graph that means something else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tessera/dsl/ir/builder.h>
#include <tessera/dsl/mask/pointwise.h>

namespace tessera {

// A traced program. `functions[i]` is the mask or score behind `kernel.functions[i]`: its captures are what the kernel
// is called with for that function's parameters.
struct Traced {
  ir::Kernel kernel;
  std::vector<mask::Pointwise> functions;
};

}  // namespace tessera

namespace tessera::detail {

struct Handle {
  ir::Value value;
  std::uint32_t trace = 0;
  std::uint32_t region = 0;
};

// A side table as a mask or score reads it: captured data, or a name under which data is given at the call.
struct TableSource {
  std::shared_ptr<const mask::TableData> data;
  std::string name;
  DType dtype = DType::i32;
  int rank = 1;
};

class Trace {
 public:
  explicit Trace(Traced& program);            // of a kernel
  explicit Trace(mask::Pointwise& function);  // of a mask or score
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  static Trace& current(SourceLoc loc);                        // UserError outside a trace
  static Trace& kernel(SourceLoc loc, const char* construct);  // UserError outside a kernel's trace

  ir::Builder& builder(SourceLoc loc);  // of the innermost region
  ir::Value use(Handle handle, SourceLoc loc) const;
  std::vector<ir::Value> use(std::span<const Handle> handles, SourceLoc loc) const;
  Handle made(ir::Value value) const;
  const ir::Type& type(Handle handle) const { return graph_->type(handle.value); }

  // A body being traced. `axis` is the one it walks in tiles, none for `when` and counted loops.
  struct Region {
    ir::Builder* builder;
    std::uint32_t id;
    ir::Axis axis;
    bool repeats;
    SourceLoc loc;
    bool heeds_mask = false;  // its body reads what the mask allows, or says that it need not
  };
  void enter(ir::Builder& builder, ir::Axis axis, bool repeats, SourceLoc loc);
  void leave() { regions_.pop_back(); }
  const std::vector<Region>& regions() const { return regions_; }
  bool active(std::uint32_t region) const;
  void heed_mask(ir::Axis looped);  // of the region that walks the axis

  Traced& program() const { return *program_; }
  int function(const std::shared_ptr<const mask::Pointwise>& function);  // its index in the kernel, added at first use
  int capture(const TableSource& table, SourceLoc loc);                  // its index among the function's parameters
  int capture(const std::string& name, DType dtype, double value, SourceLoc loc);
  void take_lengths(const std::vector<mask::LengthRule>& lengths,
                    SourceLoc loc);  // of a predicate that the function calls

  struct Stored {
    int param;
    std::uint32_t region;
    SourceLoc loc;
  };
  std::vector<Stored> stores;

 private:
  Traced* program_ = nullptr;
  mask::Pointwise* pointwise_ = nullptr;
  std::vector<std::shared_ptr<const mask::Pointwise>> registered_;
  ir::Graph* graph_;
  ir::Builder root_;
  std::vector<Region> regions_;
  std::uint32_t serial_;
  std::uint32_t next_region_ = 0;
  Trace* outer_;
};

// ---- operations
Handle constant(double number, DType dtype, std::vector<ir::Dim> dims, SourceLoc loc);
Handle unary(ir::OpCode code, Handle a, SourceLoc loc);
Handle binary(ir::OpCode code, Handle a, Handle b, SourceLoc loc);
Handle select(Handle condition, Handle a, Handle b, SourceLoc loc);
Handle cast(Handle a, DType to, SourceLoc loc);
Handle reduce(ir::OpCode code, Handle a, ir::Axis axis, SourceLoc loc);
Handle dot(Handle a, Handle b, SourceLoc loc);
Handle in_order(Handle a, const std::vector<ir::Dim>& dims,
                SourceLoc loc);  // the same tile with its axes in this order

// ---- where the program is
Handle index(ir::Axis axis, SourceLoc loc);
Handle length(ir::Axis axis, SourceLoc loc);
Handle grid_positions(ir::Axis axis, SourceLoc loc);
Handle tile_positions(ir::Axis axis, Handle tile, SourceLoc loc);
Handle allowed(int function, ir::Axis looped, ir::Axis other, Handle tile, SourceLoc loc);
void ignore_mask(int function, ir::Axis looped, Handle tile, SourceLoc loc);
Handle apply(const std::shared_ptr<const mask::Pointwise>& score, Handle tile, Handle value, SourceLoc loc);

// ---- memory
struct TileRef {  // a loop's tile, and the axis it is a tile of
  ir::Axis axis;
  Handle handle;
};
Handle load(int param, std::vector<ir::Dim> dims, std::span<const TileRef> tiles, SourceLoc loc);
void store(int param, Handle value, std::span<const TileRef> tiles, SourceLoc loc);
Handle scalar(int param, DType dtype, SourceLoc loc);                                     // of the kernel
Handle gather(int param, DType dtype, std::span<const Handle> indices, SourceLoc loc);    // of the kernel
Handle scalar(const std::string& name, DType dtype, double value, SourceLoc loc);         // of a mask or score
Handle gather(const TableSource& table, std::span<const Handle> indices, SourceLoc loc);  // of a mask or score
// The body of a predicate at these positions (ir::Function's), inside a mask or score.
Handle call(const mask::Pointwise& predicate, std::vector<Handle> positions, SourceLoc loc);

// ---- regions
using Names = std::vector<std::string>;
using Body = std::function<std::vector<Handle>(Handle index, std::span<const Handle> carried)>;
std::vector<Handle> over(ir::Axis axis, int function, const Handle* bound, std::vector<Handle> init, const Names& names,
                         const Body& body, SourceLoc loc);
std::vector<Handle> loop(Handle lo, Handle hi, std::vector<Handle> init, const Names& names, const Body& body,
                         SourceLoc loc);
std::vector<Handle> when(Handle condition, std::vector<Handle> init, const Names& names, const Body& body,
                         SourceLoc loc);

// ---- names and values that programs bear
// UserError unless IR and entry points can bear the name. `what`: "a kernel", "a Param".
void check_name(const char* what, const std::string& name, SourceLoc loc);
void check_param_value(const std::string& name, double value, SourceLoc loc);  // of an f32 Param

// ---- masks and scores
class FunctionTrace {
 public:
  FunctionTrace(const char* name, bool maps_a_value, SourceLoc loc);
  Handle argument(int index) const;  // ir::Function's positions; kPositions: the value it maps
  mask::Pointwise finish(Handle result);

 private:
  mask::Pointwise function_;
  std::unique_ptr<Trace> trace_;
};

}  // namespace tessera::detail
