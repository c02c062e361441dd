// The masks that attention is measured under. Each is a Mask of the library's language and, beside it, what others need
// to build the same one: its kind and its numbers as data. How many pairs are live is counted in closed form, apart
// from the Mask, so that a figure of useful work does not rest on what it measures.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <tessera/dsl/lang/mask.h>

namespace tessera::bench {

struct MaskCase {
  std::string kind;                   // "window"
  nlohmann::ordered_json parameters;  // {"left": 1024, "right": 0}
  Mask mask;
  std::function<std::int64_t(std::int64_t query, std::int64_t tokens)> live_keys;  // of one row
};

MaskCase all_keys();
MaskCase causal_keys();
MaskCase window_keys(std::int64_t left, std::int64_t right);
MaskCase prefix_keys(std::int64_t length);
MaskCase sink_keys(std::int64_t sinks, std::int64_t left);

// `half` keys on either side, and `globals` first tokens that see all and that all see.
MaskCase longformer_keys(std::int64_t half, std::int64_t globals);
// Causal: the last `stride` keys, and before them every stride-th.
MaskCase strided_keys(std::int64_t stride);
// Every dilation-th key on either side, `half` of them.
MaskCase dilated_keys(std::int64_t half, std::int64_t dilation);

MaskCase diagonal_blocks(std::int64_t size);
MaskCase causal_documents(std::vector<std::int64_t> lengths);

// Square blocks, live or not at will: `live` is 0 or 1, row by row, of tokens / block blocks a side.
struct BlockMap {
  std::int64_t block = 0, side = 0;
  std::vector<std::int32_t> live;

  std::int64_t live_in_row(std::int64_t row) const;
};
MaskCase block_map_keys(BlockMap map);

// Each block is live with this probability, those of the diagonal always.
BlockMap random_blocks(std::int64_t block, std::int64_t side, double density, std::uint64_t seed);
// BigBird's: the blocks within window / 2 of the diagonal, the first `globals` rows and columns, `random` others a row.
BlockMap bigbird_blocks(std::int64_t block, std::int64_t side, int window, int globals, int random, std::uint64_t seed);

// Neighbourhoods in two or three dims, as NATTEN defines them: queries go in groups of `stride`, whose middle has the
// window around it that is moved inside the space where it would reach beyond.
struct SpaceAxis {
  int length, window, stride;
};
MaskCase neighbourhood_keys(std::vector<SpaceAxis> axes);  // outermost first

// Of a video: in every even frame the places at most `near` from the query's own, and all of the first frame. A pattern
// of no catalogue, as lesson 8 has it.
MaskCase video_keys(std::int64_t frames, std::int64_t rows, std::int64_t columns, std::int64_t near);

}  // namespace tessera::bench
