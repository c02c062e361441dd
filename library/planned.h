// An attention program bound to the geometry of one set of shapes: the plan, the tiled kernel, and where each of its
// parameters comes from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tessera/dsl/lang/trace.h>
#include <tessera/dsl/mask/planner.h>
#include <tessera/library/attention_options.h>

namespace tessera::library {

// Where the kernel gets a parameter from at each call.
struct ParameterSource {
  enum class Kind : std::uint8_t {
    q, k, v, o, lse, scale,
    key_lengths,
    captured,      // `table`: data of the mask, of a score or of the plan
    named_table,   // given at the call as `name`
    named_scalar,  // given at the call as `name`, else `value`
  };
  Kind kind;
  std::string name;
  std::shared_ptr<const mask::TableData> table;
  double value = 0;
};

// The program before it meets a plan. `lse` and `bounded` say which optional arguments it has.
struct TracedAttention {
  Traced program;   // simplified; functions[0] is the mask
  double ms = 0;
  bool plan_reads_key_length = false;  // the mask depends on how many keys there are
};
TracedAttention trace_attention(const AttentionOptions& options, bool lse, bool bounded);

struct PlanInput {
  AttentionShapes shapes;
  std::vector<mask::NamedScalar> scalars;
  std::vector<std::int64_t> key_lengths;  // where the host knows them
  backend::TileShape tile{};
};

mask::PlanRequest request_of(const PlanInput& input);

struct Planned {
  PlanInput input;
  mask::Plan plan;           // without its list, which is among the sources
  ir::Kernel tiled;
  std::string text;          // print(tiled)
  std::vector<ParameterSource> sources;
  bool list = false;         // the plan reads a list
  double trace_ms = 0, plan_ms = 0;

  // Whether a call may use this: same shapes and, where the plan depends on them, same scalars and key lengths.
  bool serves(const PlanInput& call) const;
};

std::shared_ptr<const Planned> make_planned(const AttentionOptions& options, const TracedAttention& traced, PlanInput input,
                                            SourceLoc loc);

}  // namespace tessera::library
