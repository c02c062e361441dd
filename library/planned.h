// A program bound to the geometry of one set of shapes: the plan, a tiled kernel for each of its passes, and where each
// of their parameters comes from.
//
// Passes of a chain share the keys of a row among them. The first leaves O and LSE of its share where those of the call
// go; the second reads them there and writes those of all keys over them, row by row. So a chain needs no memory but an
// LSE where the call asks for none, and O of the first pass is rounded to its storage type once more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tessera/dsl/lang/trace.h>
#include <tessera/dsl/mask/choose_plan.h>
#include <tessera/dsl/passes/tile_by_mask.h>
#include <tessera/library/attention_options.h>

namespace tessera::library {

// Where the kernel gets a parameter from at each call.
struct ParameterSource {
  enum class Kind : std::uint8_t {
    q,
    k,
    v,
    o,
    lse,          // of the call; in a chain whose call has none, memory of the launch
    earlier_o,    // of the pass before, which lies where o does
    earlier_lse,  // likewise
    scale,
    key_lengths,   // of an attention call
    argument,      // of another program's call: argument `index`
    captured,      // `table`: data of the mask, of a score or of the plan
    named_table,   // given at the call as `name`
    named_scalar,  // given at the call as `name`, else `value`
  };
  Kind kind;
  std::string name;
  std::shared_ptr<const mask::TableData> table;
  double value = 0;
  int index = -1;
};

// A program before it meets a plan.
struct TracedProgram {
  Traced traced;                          // simplified
  const mask::Pointwise* mask = nullptr;  // of its loop over keys: one of traced.functions, or null
  passes::Tiling tiling;
  std::shared_ptr<const PlanMaker> plan_maker;  // in place of the planner, if there is one
  bool attention = false;                       // its arguments are those of an attention call
  bool bounded = false;                         // it is told how many keys exist
  std::function<Traced(int pass)> chained;      // what the two passes of a chain compute; empty: it has one pass alone
  double ms = 0;                                // it took to trace
};

// Simplifies a program and finds its mask. UserError when two loops have two masks: a kernel is planned for one.
TracedProgram plannable(Traced traced, passes::Tiling tiling);
TracedProgram trace_attention(const AttentionOptions& options, bool lse, bool bounded);

// The same names and values in the same order.
bool same_scalars(const std::vector<mask::NamedScalar>& a, const std::vector<mask::NamedScalar>& b);

struct PlanInput {
  AttentionShapes shapes;
  std::vector<mask::NamedScalar> scalars;
  std::vector<std::int64_t> key_lengths;  // where the host knows them: a list is made for them, spans are not
  backend::TileShape tile{};
  friend bool operator==(const PlanInput& a, const PlanInput& b);
};
mask::PlanRequest request_of(const PlanInput& input);

struct PlannedKernel {
  ir::Kernel tiled;
  std::string text;                      // print(tiled)
  std::vector<ParameterSource> sources;  // one a parameter of `tiled`
};

struct Planned {
  PlanInput input;
  mask::Plan plan;  // its lists' arrays are among the sources; no passes where the program has no mask
  std::vector<PlannedKernel> kernels;  // launched one after the other: one a pass, or of the program without a mask
  bool list = false;                   // the plan reads lists, or is no planner's: made for its numbers alone
  double trace_ms = 0, plan_ms = 0;
  std::optional<mask::Pointwise> mask;  // of the program
  double room = -1;                     // mask::scalar_room of a plan of spans, for scalars at their defaults

  const PlannedKernel& only() const;  // of a plan that is no chain

  // Whether a call may use this: same shapes and, where the plan depends on them, same scalars and key lengths.
  bool serves(const PlanInput& call) const;

  // Whether a call of the same shapes may have these scalars. A list is made for the scalars of its call; spans hold
  // for any that keep sums within i32. Allocates nothing where the scalars are those of the plan or small.
  bool serves_scalars(const std::vector<mask::NamedScalar>& scalars) const;
};

// `costs`: to choose a plan by, whatever its tiles; without them it has the input's tiles.
std::shared_ptr<const Planned> make_planned(const TracedProgram& program, PlanInput input,
                                            const mask::TargetCosts* costs = nullptr);

}  // namespace tessera::library
