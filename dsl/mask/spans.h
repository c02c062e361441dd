// The closed form of a tile map: key tiles of a query tile as a few spans, by arithmetic on the tile's first and last
// query.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tessera/dsl/mask/expression.h>
#include <tessera/dsl/mask/plan.h>

namespace tessera::mask {

inline constexpr std::size_t kMaxSpans = 3;

// Bounds of one span as expressions of at_first, at_last, head, batch and the lengths.
struct SpanBounds {
  Expressions::Id begin, full_begin, full_end, end;
};

// Derives the spans of the predicate in `expressions`, whose positions and scalars must be unbound. `bounded`: keys end
// at at_key_bound, not at at_key_length. On failure the result is empty and `reason` names the sub-expression.
std::vector<SpanBounds> derive_spans(Expressions& expressions, Expressions::Id root, int key_tile, bool bounded,
                                     std::string& reason);

// The same as the function that plan.h describes.
Spans emit_spans(const Expressions& expressions, const std::vector<SpanBounds>& spans, bool bounded);

}  // namespace tessera::mask
