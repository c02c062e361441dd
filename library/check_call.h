// Everything about a call that can be refused before anything runs.
#pragma once

#include <optional>

#include <tessera/library/attention_options.h>

namespace tessera::library {

// Fills in what options leave open (value_dim, scale) and refuses what no kernel can do.
AttentionOptions resolve(AttentionOptions options, SourceLoc loc);

AttentionShapes check_shapes(AttentionShapes shapes, SourceLoc loc);  // kv_heads filled in

// The shapes of a call whose views agree with each other and with the options.
AttentionShapes check_call(const AttentionOptions& options, const AttentionCall& call, SourceLoc loc);

// An output of a call, and a tensor that lies in part where it lies: kernels read inputs at any time, and write
// outputs at any time. Answered without allocating.
struct Overlap {
  const char *output, *other;
};
std::optional<Overlap> find_overlap(const AttentionCall& call);
// The same of a kernel's call: its outputs, and all its tensors and tables. `arguments` are of its first parameters.
std::optional<Overlap> find_overlap(const ir::Kernel& kernel, const std::vector<ir::Argument>& arguments);
// UserErrors: such an overlap, and an output whose own elements share a place.
void check_outputs(const ir::Kernel& kernel, const std::vector<ir::Argument>& arguments, SourceLoc loc);

// Tables that are read at a position itself (table[q], table(at.batch, at.head, q, k)) must fit the axes they stand
// for: the largest of them exactly, or, for head and batch, have one element there. `shape_of` gives the shape of the
// function's i-th parameter, empty if it is not a table.
void check_tables(const ir::Function& function, const std::vector<std::vector<std::int64_t>>& shapes_of_params,
                  const AttentionShapes& shapes, SourceLoc loc);

}  // namespace tessera::library
