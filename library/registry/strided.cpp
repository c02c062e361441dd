#include <tessera/library/registry/rows.h>

namespace tessera::registry {

using Values = PatternValues;

namespace {

const PatternParameter kPart{"part", "both", "both, local or column: one head's union, or one of its two"};

SparseTransformer part_of(const Values& v) {
  constexpr SparseTransformer parts[] = {SparseTransformer::both, SparseTransformer::local, SparseTransformer::column};
  return parts[v.choice("part", {"both", "local", "column"})];
}

Mask make_dilated(const Values& v) {
  const std::vector<int> dilations = v.small_integers("dilation");
  return dilations.size() == 1 ? dilated_window(v.integer("width"), dilations[0], v.align("align"), kNowhere)
                               : dilated_window(v.integer("width"), dilations, v.align("align"), kNowhere);
}

Mask make_strided_blocks(const Values& v) {
  return strided_blocks({.block = v.integer("block"), .stride = v.integer("stride"), .offset = v.integer("offset")},
                        v.align("align"), kNowhere);
}

Mask make_sparse_fixed(const Values& v) {
  return sparse_fixed({.block = v.integer("block"), .columns = v.integer("columns"), .groups = v.integer("groups")},
                      part_of(v), v.align("align"), kNowhere);
}

Mask make_longnet(const Values& v) {
  return longnet({.segment = v.integer("segment"),
                  .dilation = v.integer("dilation"),
                  .heads = v.integer("head-count"),
                  .heads_in_turn = v.flag("heads-in-turn"),
                  .causal = v.flag("causal")},
                 kNowhere);
}

}  // namespace

std::vector<Pattern> strided_patterns() {
  return {
      {"dilated-window",
       "every so many keys to either side",
       {{"width", "", "keys to a side"}, {"dilation", "", "tokens from key to key, of all heads or each"}, kAlign},
       make_dilated},
      {"strided",
       "keys a multiple of the stride away",
       {{"stride", "", "tokens from key to key"}, kCausal, kAlign},
       [](const Values& v) {
         return with_causal(strided(v.integer("stride"), v.align("align"), kNowhere), v, v.align("align"));
       }},
      {"strided-blocks",
       "every so many queries and keys of a block",
       {{"block", "256", "tokens of a block"},
        {"stride", "4", "tokens from one to the next"},
        {"offset", "0", "of the first"},
        kAlign},
       make_strided_blocks},
      {"sparse-strided",
       "Sparse Transformer: the last keys, and those a multiple of the stride before",
       {{"stride", "128", "keys of the window, and from column to column"}, kPart, kAlign},
       [](const Values& v) { return sparse_strided(v.integer("stride"), part_of(v), v.align("align"), kNowhere); }},
      {"sparse-fixed",
       "Sparse Transformer: the query's own block, and fixed columns of every block",
       {{"block", "128", "keys of a block"},
        {"columns", "8", "keys of a block that later blocks see"},
        {"groups", "1", "groups of columns, which heads take in turn"},
        kPart,
        kAlign},
       make_sparse_fixed},
      {"log-sparse",
       "keys whose distance is a power of two",
       {{"tokens", "4096", "tokens of a sequence, at most"},
        {"local", "1", "last keys that are seen"},
        {"restart", "0", "keys after which it begins again; 0: none"},
        kAlign},
       [](const Values& v) {
         return log_sparse(v.integer("tokens"), {.local = v.integer("local"), .restart = v.integer("restart")},
                           v.align("align"), kNowhere);
       }},
      {"longnet",
       "one branch of LongNet: every so many queries and keys of a segment",
       {{"segment", "2048", "tokens of a segment"},
        {"dilation", "4", "tokens from one to the next"},
        {"head-count", "8", "query heads, in groups that begin at different tokens"},
        {"heads-in-turn", "false", "heads begin one token after another"},
        kCausal},
       make_longnet},
  };
}

}  // namespace tessera::registry
