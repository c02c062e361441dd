#include <tessera/library/registry/rows.h>

namespace tessera::registry {

using Values = PatternValues;

namespace {

Mask make_block_diagonal(const Values& v) {
  const std::vector<int> padding = v.small_integers("left-padding");
  const bool none = padding.size() == 1 && padding[0] == 0;
  return with_causal(none ? block_diagonal(v.integer("size"), v.align("align"), kNowhere)
                          : block_diagonal(v.integer("size"), padding, v.align("align"), kNowhere),
                     v, v.align("align"));
}

Mask make_bigbird(const Values& v) {
  return bigbird(v.integer("tokens"),
                 {.block = v.integer("block"),
                  .random = v.integer("random"),
                  .heads = v.integer("lists"),
                  .seed = static_cast<std::uint64_t>(v.integer("seed"))},
                 kNowhere);
}

Mask make_local_stride(const Values& v) {
  return local_stride({.block = v.integer("block"),
                       .local = v.integer("local"),
                       .stride = v.integer("stride"),
                       .heads = v.integer("turns"),
                       .group = v.integer("group"),
                       .offset = v.integer("offset")},
                      v.align("align"), kNowhere);
}

}  // namespace

std::vector<Pattern> block_patterns() {
  const PatternParameter size{"size", "", "tokens of a block"};
  return {
      {"block-diagonal",
       "keys of the query's own block",
       {size, {"left-padding", "0", "tokens before the first block, for each sequence or for all"}, kCausal, kAlign},
       make_block_diagonal},
      {"blocked",
       "keys of the query's own block and of those before it",
       {size, {"previous", "1", "blocks before it"}, kCausal, kAlign},
       [](const Values& v) {
         return with_causal(blocked(v.integer("size"), v.integer("previous"), v.align("align"), kNowhere), v,
                            v.align("align"));
       }},
      {"block-causal",
       "keys of the query's own block and of all before it",
       {size, kAlign},
       [](const Values& v) { return block_causal(v.integer("size"), v.align("align"), kNowhere); }},
      {"block-diffusion",
       "noisy blocks that see themselves and the clean ones before them",
       {{"length", "", "noisy tokens, which as many clean ones follow"}, size},
       [](const Values& v) { return block_diffusion(v.integer("length"), v.integer("size"), kNowhere); }},
      {"bigbird",
       "neighbouring blocks, the first and the last, and random ones",
       {{"tokens", "4096", "tokens of a sequence"},
        {"block", "64", "tokens of a block"},
        {"random", "3", "random blocks of each"},
        {"lists", "1", "heads with random blocks of their own"},
        {"seed", "0", "of the random blocks"}},
       make_bigbird},
      {"local-stride",
       "a causal window of blocks, and every so many before it",
       {{"block", "64", "tokens of a block"},
        {"local", "16", "blocks of the window"},
        {"stride", "8", "blocks from one that is seen to the next"},
        {"turns", "1", "heads that take turns"},
        {"group", "1", "heads that share a turn"},
        {"offset", "0", "blocks that the first turn is ahead"},
        kAlign},
       make_local_stride},
  };
}

}  // namespace tessera::registry
