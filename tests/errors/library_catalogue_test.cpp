// What the patterns of the catalogue refuse: the whole text, at the line that wrote the pattern.
#include <tessera/library/attention.h>
#include <tessera/library/patterns.h>

#include <doctest/doctest.h>

#include "support/refusal.h"

using namespace tessera;

namespace {

template <class Work>
std::string refusal(const Work& work) {
  return test::refusal_in(__FILE__, work);
}

}  // namespace

TEST_CASE("windows, prefixes and sinks") {
  CHECK(refusal([] { prefix(std::vector<int>{}); }) == "error: there are no prefix lengths; note: give one a sequence");
  CHECK(refusal([] { prefix(std::vector<int>{4, -1}); }) ==
        "error: the prefix length of sequence 1 is -1; note: give 0 or more");
  CHECK(refusal([] { tri_shape({.sinks = 4, .left = -1, .last = 10}); }) ==
        "error: there are 4 sinks, a window of -1 keys before the query and 10 last queries; note: give 0 or more of "
        "each");
  CHECK(refusal([] { padding({}); }) == "error: there are no key lengths; note: give one a sequence");
  CHECK(refusal([] { padding({-2}); }) == "error: the key length of sequence 0 is -2; note: give 0 or more");
}

TEST_CASE("blocks") {
  CHECK(refusal([] { block_diagonal(-4); }) == "error: the blocks have -4 tokens; note: give 1 or more");
  CHECK(refusal([] { block_diagonal(8, std::vector<int>{}); }) ==
        "error: there are no lengths of the padding; note: give one a sequence");
  CHECK(refusal([] { block_diagonal(8, std::vector<int>{0, -3}); }) ==
        "error: the padding of sequence 1 has -3 tokens; note: give 0 or more");
  CHECK(refusal([] { blocked(0); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { blocked(8, -1); }) == "error: there are -1 previous blocks; note: give 0 or more");
  CHECK(refusal([] { blocked(65536, 65536); }) ==
        "error: 65536 blocks of 65536 tokens are more than 2^31; note: give fewer or smaller blocks");
  CHECK(refusal([] { block_causal(0); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { block_diffusion(0, 4); }) ==
        "error: there are 0 noisy tokens; note: give 1 to 1073741823: as many clean ones follow");
  CHECK(refusal([] { block_diffusion(1073741824, 4); }) ==
        "error: there are 1073741824 noisy tokens; note: give 1 to 1073741823: as many clean ones follow");
  CHECK(refusal([] { block_diffusion(64, 0); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { bigbird(4096, {.block = 0}); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { bigbird(4096, {.random = -1}); }) ==
        "error: there are -1 random blocks and 1 heads with lists of their own; note: give 0 or more blocks, and 1 or "
        "more heads");
  CHECK(refusal([] { bigbird(4096, {.heads = 0}); }) ==
        "error: there are 3 random blocks and 0 heads with lists of their own; note: give 0 or more blocks, and 1 or "
        "more heads");
  CHECK(refusal([] { bigbird(0, {}); }) == "error: there are 0 tokens; note: give 1 to 2^31 - 1");
  CHECK(refusal([] { bigbird(1LL << 32, {}); }) == "error: there are 4294967296 tokens; note: give 1 to 2^31 - 1");
  CHECK(refusal([] { bigbird(1 << 30, {.block = 1, .random = 3, .heads = 64}); }) ==
        "error: 3 random blocks for 1073741824 blocks of 64 heads are more than 2^31; note: give larger blocks or "
        "fewer heads");
  CHECK(refusal([] { local_stride({.block = 0}); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { local_stride({.local = 0}); }) ==
        "error: the window has 0 blocks, and the stride is 8 blocks; note: give 1 or more of each");
  CHECK(refusal([] { local_stride({.stride = -8}); }) ==
        "error: the window has 16 blocks, and the stride is -8 blocks; note: give 1 or more of each");
  CHECK(refusal([] { local_stride({.heads = 0}); }) ==
        "error: there are 0 heads in groups of 1, and the offset is 0; note: give 1 or more heads and heads a group, "
        "and an offset of 0 or more");
  CHECK(refusal([] { local_stride({.group = 0}); }) ==
        "error: there are 1 heads in groups of 0, and the offset is 0; note: give 1 or more heads and heads a group, "
        "and an offset of 0 or more");
  CHECK(refusal([] { local_stride({.offset = -1}); }) ==
        "error: there are 1 heads in groups of 1, and the offset is -1; note: give 1 or more heads and heads a group, "
        "and an offset of 0 or more");
}

TEST_CASE("strides") {
  CHECK(
      refusal([] { dilated_window(-1, 2); }) ==
      "error: the window has -1 keys to a side at dilation 2; note: give 0 or more keys, and a dilation of 1 or more");
  CHECK(refusal([] { dilated_window(4, 0); }) ==
        "error: the window has 4 keys to a side at dilation 0; note: give 0 or more keys, and a dilation of 1 or more");
  CHECK(refusal([] { dilated_window(65536, 65536); }) ==
        "error: 65536 keys at dilation 65536 reach further than 2^31 - 1; note: give a smaller window or dilation");
  CHECK(refusal([] { dilated_window(4, std::vector<int>{}); }) ==
        "error: there are no dilations; note: give one a head");
  CHECK(refusal([] { dilated_window(4, std::vector<int>{1, 0}); }) ==
        "error: the window has 4 keys to a side at dilation 0; note: give 0 or more keys, and a dilation of 1 or more");
  CHECK(refusal([] { strided(0); }) == "error: the stride is 0; note: give 1 or more");
  CHECK(refusal([] { strided_blocks({.block = 0}); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { strided_blocks({.block = 4, .stride = 5}); }) ==
        "error: the stride is 5, and the blocks have 4 tokens; note: give a stride of 1 to 4");
  CHECK(refusal([] { strided_blocks({.block = 16, .stride = 4, .offset = 4}); }) ==
        "error: the offset is 4, and the stride 4; note: give an offset of 0 to 3: with another no key is seen");
  CHECK(refusal([] { sparse_strided(0); }) == "error: the stride is 0; note: give 1 or more");
  CHECK(refusal([] { sparse_fixed({.block = 0}); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { sparse_fixed({.block = 16, .columns = 8, .groups = 3}); }) ==
        "error: 3 groups of 8 columns are taken from blocks of 16; note: give 1 or more of each, in all no more than a "
        "block has");
  CHECK(refusal([] { log_sparse(0, {}); }) == "error: there are 0 tokens; note: give 1 or more");
  CHECK(refusal([] { log_sparse(64, {.local = 0}); }) ==
        "error: there are 0 local keys, and it restarts every 0; note: give 1 or more local keys, and a restart of 0 "
        "(none) or more");
  CHECK(refusal([] { log_sparse(64, {.restart = -1}); }) ==
        "error: there are 1 local keys, and it restarts every -1; note: give 1 or more local keys, and a restart of 0 "
        "(none) or more");
  CHECK(refusal([] { longnet({.segment = 0}); }) == "error: the segments have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { longnet({.segment = 8, .dilation = 9}); }) ==
        "error: the dilation is 9, and the segments have 8 tokens; note: give a dilation of 1 to 8");
  CHECK(refusal([] { longnet({.heads = 0}); }) == "error: there are 0 heads; note: give 1 or more");
}

TEST_CASE("packed sequences") {
  CHECK(refusal([] { key_ranges({0, 1}, {5}); }) ==
        "error: the ranges have 2 first keys and 1 ends; note: give both of each query");
  CHECK(refusal([] { shared_prefix({.lengths = {3, 4}, .prefix = {-1}}); }) ==
        "error: there are 2 texts and 1 prefixes; note: give one a text, -1 for none");
  CHECK(refusal([] { shared_prefix({.lengths = {3, 4}, .prefix = {-1, 1}}); }) ==
        "error: the prefix of text 1 is 1; note: give a text before it, or -1 for none");
  CHECK(refusal([] { shared_prefix({.lengths = {3, -4}, .prefix = {-1, 0}}); }) ==
        "error: text 1 has -4 tokens, after 3; note: give 0 to 2^31 - 1 in all");
  CHECK(refusal([] { shared_prefix({.lengths = {2000000000, 2000000000}, .prefix = {-1, 0}}); }) ==
        "error: text 1 has 2000000000 tokens, after 2000000000; note: give 0 to 2^31 - 1 in all");
  CHECK(refusal([] { shared_prefix({.lengths = {0}, .prefix = {-1}}); }) ==
        "error: the texts have no token; note: give 1 or more in all");
  CHECK(refusal([] { tree({}); }) == "error: the tree has 0 nodes; note: give 1 to 46340");
  CHECK(refusal([] { tree(std::vector<int>(50000, -1)); }) == "error: the tree has 50000 nodes; note: give 1 to 46340");
  CHECK(refusal([] { tree({-1, 1}); }) ==
        "error: the parent of node 1 is 1; note: give a node before it, or -1 at a root");
  CHECK(refusal([] { image_intervals({.keys_per_image = 0, .first = {0}, .end = {1}}); }) ==
        "error: an image has 0 keys; note: give 1 or more");
  CHECK(refusal([] { image_intervals({.keys_per_image = 4, .first = {0, 1}, .end = {1}}); }) ==
        "error: there are 2 first queries and 1 ends; note: give both of each image");
  CHECK(refusal([] { image_intervals({.keys_per_image = 2147483647, .first = {0, 1}, .end = {1, 2}}); }) ==
        "error: 2 images of 2147483647 keys are more than 2^31 - 1; note: give fewer");
  CHECK(refusal([] { global_window(-1, 4); }) ==
        "error: the window has -1 keys to a side, and 4 tokens are global; note: give 0 or more of each");
  CHECK(refusal([] { global_window(-1, std::vector<int>{1}); }) ==
        "error: the window has -1 keys to a side; note: give 0 or more");
  CHECK(refusal([] { star(-1); }) == "error: the hub is token -1; note: give 0 or more");
}

TEST_CASE("masks of masks") {
  CHECK(refusal([] { per_head({}, {0}); }) ==
        "error: there are 0 masks for 1 heads; note: give one or more masks, and the number of one for each head");
  CHECK(refusal([] { per_head({causal}, {}); }) ==
        "error: there are 1 masks for 0 heads; note: give one or more masks, and the number of one for each head");
  CHECK(refusal([] { per_head({causal, full}, {0, 2}); }) ==
        "error: head 1 has mask 2, and there are 2; note: give 0 to 1");
  CHECK(refusal([] { ring(causal, {.tokens = 0}); }) ==
        "error: 0 tokens are spread over 1 ranks; note: give 1 to 2^31 - 1 tokens and 1 or more ranks");
  CHECK(refusal([] { ring(causal, {.tokens = 100, .ranks = 2, .query_rank = 2}); }) ==
        "error: the rank is 2 of 2; note: give 0 to 1");
  CHECK(refusal([] { ring(causal, {.tokens = 100, .ranks = 2, .key_rank = -1}); }) ==
        "error: the rank is -1 of 2; note: give 0 to 1");
  CHECK(refusal([] { ring(causal, {.tokens = 100, .ranks = 3, .zigzag = true}); }) ==
        "error: 100 tokens do not make 6 equal runs of a zigzag; note: pad them to 102");
  CHECK(refusal([] { ring(neighborhood(Grid{8, 8}, {.window = 3}), {.tokens = 100, .ranks = 2}); }) ==
        "error: the grid 8 x 8 takes 64 queries, and there are 100; note: give 64 queries, or make the mask for 100");
}

TEST_CASE("a ring of documents has a document for every token") {
  CHECK(
      refusal([] { ring(causal & documents(document_ids({40, 50})), {.tokens = 100, .ranks = 2}); }) ==
      "error: table 'document' has 90 entries, and all ranks together 100 tokens; note: make the mask for 100 tokens");
  CHECK(refusal([] { ring(causal & documents(document_ids({40, 60})), {.tokens = 100, .ranks = 2}); }) ==
        "not refused");
}

TEST_CASE("neighborhoods") {
  CHECK(refusal([] { neighborhood(Grid{8, 16}, {.window = {4, 0}}); }) ==
        "error: axis 1 has window 0, stride 1 and dilation 1; note: give 1 or more of each");
  CHECK(refusal([] { neighborhood(Grid{8, 16}, {.window = {4, 17}}); }) ==
        "error: the window of axis 1 is 17, and the axis has 16 tokens; note: give a window of 1 to 16");
  CHECK(refusal([] { neighborhood(Grid{30, 48, 80}, {.window = {18, 24, 24}, .stride = {16, 25, 8}}); }) ==
        "error: the stride of axis 1 is 25, and its window 24; note: give a stride of 1 to 24: with a larger one a "
        "query would not see itself");
  CHECK(refusal([] { neighborhood(Grid{24, 44, 80}, {.window = {24, 4, 16}, .dilation = {1, 12, 1}}); }) ==
        "error: the dilation of axis 1 is 12: of its 44 tokens a window of 4 finds 3 at that distance; note: give a "
        "dilation of 1 to 11");
  CHECK(refusal([] { neighborhood(Grid{8, 16}, {.window = 4, .dilation = {1, 17}}); }) ==
        "error: the dilation of axis 1 is 17: of its 16 tokens a window of 4 finds 0 at that distance; note: give a "
        "dilation of 1 to 4");
  CHECK(refusal([] { neighborhood(Grid{8}, {.window = 4, .stride = -1}); }) ==
        "error: axis 0 has window 4, stride -1 and dilation 1; note: give 1 or more of each");
  CHECK(refusal([] { neighborhood(Grid{8}, {.window = 4, .extra_keys = -1}); }) ==
        "error: there are -1 extra keys beside 8 of the grid; note: give 0 to 2147483639");
  CHECK(refusal([] { neighborhood(Grid{40000, 50000}, {.window = 4, .extra_keys = 200000000}); }) ==
        "error: there are 200000000 extra keys beside 2000000000 of the grid; note: give 0 to 147483647");
  CHECK(refusal([] { neighborhood({NeighborhoodAxis{65536, 3}, NeighborhoodAxis{65536, 3}}); }) ==
        "error: the Grid 65536 x 65536 has more than 2147483647 tokens; note: make it smaller: token indices are "
        "32-bit integers");
  CHECK(refusal([] { neighborhood({}); }) == "error: the grid has 0 axes; note: give 1 to 3");
}

TEST_CASE("images") {
  CHECK(refusal([] { swin(Grid{14, 6}, {.window = 7}); }) ==
        "error: the window of axis 1 is 7, and the axis has 6 tokens; note: give a window of 1 to 6");
  CHECK(refusal([] { swin(Grid{14, 14}, {.window = 7, .shift = {3, 7}}); }) ==
        "error: the shift of axis 1 is 7, and its window 7; note: give a shift of 0 to 6");
  CHECK(refusal([] { swin({14, 14}, {7}, {0, 0}); }) ==
        "error: options of 1 and 2 axes are given for a grid of 2; note: give one value for each axis");
  CHECK(refusal([] { swin({}, {}, {}); }) == "error: the grid has 0 axes; note: give 1 to 3");
  CHECK(refusal([] { halo(Grid{16, 16}, {.block = {8, 17}}); }) ==
        "error: the block of axis 1 is 17, and the axis has 16 tokens; note: give a block of 1 to 16");
  CHECK(refusal([] { halo(Grid{16, 16}, {.halo = -1}); }) ==
        "error: the halo of axis 0 is -1, and the axis has 16 tokens; note: give a halo of 0 to 16");
  CHECK(refusal([] { along(Grid{16, 16}, {2}); }) ==
        "error: there is an axis 2, and the grid has 2; note: give axes of 0 to 1");
  CHECK(refusal([] { axial({65536, 65536}); }) ==
        "error: the Grid 65536 x 65536 has more than 2147483647 tokens; note: make it smaller: token indices are "
        "32-bit integers");
}

TEST_CASE("videos") {
  CHECK(refusal([] { sliding_tiles(Grid{4, 8, 8}, {.tile = {8, 4, 4}, .window = 1}); }) ==
        "error: the tile of axis 0 is 8, and the axis has 4 tokens; note: give a tile of 1 to 4");
  CHECK(refusal([] { sliding_tiles(Grid{4, 8, 8}, {.tile = {2, 4, 4}, .window = {1, 3, 1}}); }) ==
        "error: the window of axis 1 is 3 tiles, and the axis has 2; note: give a window of 1 to 2");
  CHECK(refusal([] { sliding_tiles({8, 8}, {4}, {1, 1}); }) ==
        "error: options of 1 and 2 axes are given for a grid of 2; note: give one value for each axis");
  CHECK(refusal([] { sliding_tiles({}, {}, {}); }) == "error: the grid has 0 axes; note: give 1 to 3");
  CHECK(refusal([] { sliding_tiles(Grid{8, 8}, {.tile = 4, .window = 1, .text = {-1}}); }) ==
        "error: the text has -1 tokens, beside 64 of the grid; note: give 0 to 2147483583");
  CHECK(refusal([] { radial({8, 64}, {.decay = 0}); }) == "error: the decay is 0; note: give a positive number");
  CHECK(refusal([] { radial({8, 64}, {.block = 0}); }) == "error: the blocks have 0 tokens; note: give 1 or more");
  CHECK(refusal([] { radial({0, 64}); }) ==
        "error: dimension 0 of the Grid is 0; note: every dimension has at least one token");
  CHECK(refusal([] { radial({65536, 65536}); }) ==
        "error: the Grid 65536 x 65536 has more than 2147483647 tokens; note: make it smaller: token indices are "
        "32-bit integers");
  CHECK(refusal([] { radial({65536, 1024}, {.block = 2, .shrink = true}); }) ==
        "error: 33554432 blocks of 2 tokens to a side are more than 2^31 in all; note: give larger blocks");
  CHECK(refusal([] { spatial_head({8, 64}, {.width = -1}); }) ==
        "error: the width is -1 frames; note: give 0 or more, in all no more than 2^31 - 1 tokens");
  CHECK(refusal([] { temporal_head({8, 64}, {.width = 1e30}); }) ==
        "error: the width is 1e+30 frames; note: give 0 or more, in all no more than 2^31 - 1 tokens");
}

TEST_CASE("calls of other lengths, heads and sequences than a mask is made for") {
  const auto prepare = [](const Mask& mask, const AttentionShapes& shapes) {
    return refusal([&] { Attention({.mask = mask, .head_dim = 64}).prepare(shapes); });
  };
  const Mask video = neighborhood(Grid{4, 8, 8}, {.window = 3, .extra_keys = 10});
  CHECK(prepare(video, {.query_length = 255, .key_length = 266}) ==
        "error: the grid 4 x 8 x 8 with 10 extra keys takes 256 queries, and there are 255; note: give 256 queries, or "
        "make the mask for 255");
  CHECK(prepare(video, {.query_length = 256, .key_length = 256}) ==
        "error: the grid 4 x 8 x 8 with 10 extra keys takes 266 keys, and there are 256; note: give 266 keys, or make "
        "the mask for 256");
  CHECK(prepare(~video & causal, {.query_length = 256, .key_length = 256}) ==
        "error: the grid 4 x 8 x 8 with 10 extra keys takes 266 keys, and there are 256; note: give 266 keys, or make "
        "the mask for 256");
  CHECK(prepare(log_sparse(100, {}), {.query_length = 1, .key_length = 101}) ==
        "error: LogSparse over 100 tokens takes at most 100 keys, and there are 101; note: give at most 100 keys, or "
        "make the mask for 101");
  CHECK(prepare(tree({-1, 0}), {.query_length = 2, .key_length = 1}) ==
        "error: a tree of 2 nodes takes at least 2 keys, and there are 1; note: give at least 2 keys, or make the mask "
        "for 1");
  CHECK(
      prepare(block_diffusion(64, 8), {.query_length = 64, .key_length = 128}) ==
      "error: block diffusion of 64 noisy tokens takes 128 queries, and there are 64; note: give 128 queries, or make "
      "the mask for 64");
  CHECK(prepare(bigbird(4096, {}), {.query_length = 64, .key_length = 64}) ==
        "error: BigBird over 4096 tokens takes 4096 queries, and there are 64; note: give 4096 queries, or make the "
        "mask for 64");
  CHECK(
      prepare(sliding_tiles(Grid{8, 8}, {.tile = 4, .window = 1, .text = {6}}),
              {.query_length = 64, .key_length = 64}) ==
      "error: the grid 8 x 8 with 6 tokens of text takes 70 queries, and there are 64; note: give 70 queries, or make "
      "the mask for 64");
  CHECK(prepare(ring(causal, {.tokens = 100, .ranks = 3, .key_rank = 2}), {.query_length = 34, .key_length = 34}) ==
        "error: rank 0 of 3 over keys of rank 2 takes 32 keys, and there are 34; note: give 32 keys, or make the mask "
        "for 34");
  CHECK(prepare(image_intervals({.keys_per_image = 4, .first = {0}, .end = {1}}),
                {.query_length = 34, .key_length = 5}) ==
        "error: attention to 1 images of 4 keys takes 4 keys, and there are 5; note: give 4 keys, or make the mask for "
        "5");
  CHECK(prepare(shared_prefix({.lengths = {3, 4}, .prefix = {-1, 0}}), {.query_length = 7, .key_length = 8}) ==
        "error: a sequence of texts with 7 tokens in all takes 7 keys, and there are 8; note: give 7 keys, or make the "
        "mask for 8");
  CHECK(prepare(per_head({causal, full}, {0, 1, 1}), {.heads = 4, .query_length = 7, .key_length = 7}) ==
        "error: table 'mask_of_head' of shape [3] is read along its dim 0 by heads, of which this call has 4; note: it "
        "was made for 3: make the mask or score for these lengths");
  CHECK(prepare(padding({3, 4}), {.batch = 3, .query_length = 7, .key_length = 7}) ==
        "error: table 'key_length' of shape [2] is read along its dim 0 by sequences, of which this call has 3; note: "
        "it was made for 2: make the mask or score for these lengths");
  CHECK(prepare(key_ranges({0, 0}, {4, 4}), {.query_length = 7, .key_length = 7}) ==
        "error: table 'first' of shape [2] is read along its dim 0 by queries, of which this call has 7; note: it was "
        "made for 2: make the mask or score for these lengths");
}
