#include <tessera/library/registry/rows.h>

namespace tessera::registry {

using Values = PatternValues;

const PatternParameter kAlign{"align", "bottom-right", "bottom-right or top-left: which ends of queries and keys meet"};
const PatternParameter kCausal{"causal", "false", "only keys up to the query's own place"};

Mask with_causal(Mask mask, const PatternValues& values, Align align) {
  return values.flag("causal") ? mask & causal(align, kNowhere) : mask;
}

namespace {

Mask make_prefix(const Values& v) {
  const std::vector<int> lengths = v.small_integers("length");
  return lengths.size() == 1 ? prefix(lengths[0], v.align("align"), kNowhere)
                             : prefix(lengths, v.align("align"), kNowhere);
}

Mask make_sinks(const Values& v) {
  return sink_window(v.integer("count"), v.integer("left"), v.align("align"), kNowhere);
}

Mask make_tri_shape(const Values& v) {
  return tri_shape({.sinks = v.integer("count"), .left = v.integer("left"), .last = v.integer("last")},
                   v.align("align"), kNowhere);
}

Mask make_per_head(const Values& v) {
  return per_head(
      {Mask(causal, kNowhere), sink_window(v.integer("count"), v.integer("left"), Align::bottom_right, kNowhere)},
      v.small_integers("kinds"), kNowhere);
}

Mask make_ring(const Values& v) {
  return ring(Mask(causal, kNowhere),
              {.tokens = v.integer("tokens"),
               .ranks = v.integer("ranks"),
               .query_rank = v.integer("query-rank"),
               .key_rank = v.integer("key-rank"),
               .zigzag = v.flag("zigzag")},
              kNowhere);
}

}  // namespace

std::vector<Pattern> basic_patterns() {
  const PatternParameter left{"left", "1023", "keys of the window before the query's own place"};
  return {
      {"full", "all keys", {}, [](const Values&) { return Mask(full, kNowhere); }},
      {"causal",
       "keys up to the query's own place",
       {kAlign},
       [](const Values& v) { return causal(v.align("align"), kNowhere); }},
      {"window",
       "keys near the query's own place",
       {{"left", "1023", "keys before it"}, {"right", "0", "keys after it"}, kAlign},
       [](const Values& v) { return window(v.integer("left"), v.integer("right"), v.align("align"), kNowhere); }},
      {"prefix",
       "causal, but the first keys are seen by every query",
       {{"length", "", "keys of the prefix"}, kAlign},
       make_prefix},
      {"sinks",
       "the first keys, and a causal window",
       {{"count", "4", "sinks: keys seen by every later query"}, left, kAlign},
       make_sinks},
      {"a-shape",
       "the first keys and a wide causal window, as sparse prefill takes them",
       {{"count", "128", "first keys, seen by every later query"},
        {"left", "3967", "keys of the window before the query's own place"},
        kAlign},
       make_sinks},
      {"tri-shape",
       "the first keys, a causal window, and all earlier keys for the last queries",
       {{"count", "64", "first keys, seen by every later query"}, left, {"last", "100", "last queries"}, kAlign},
       make_tri_shape},
      {"padding",
       "the first keys of each sequence",
       {{"lengths", "", "keys of each sequence, as 100,28"}},
       [](const Values& v) { return padding(v.small_integers("lengths"), kNowhere); }},
      {"per-head",
       "heads of two kinds: causal, or sinks and a window",
       {{"kinds", "0,1,0,1,0,1,0,1", "0 (causal) or 1 (sinks and window) for each head"},
        {"count", "4", "sinks"},
        {"left", "1023", "keys of the window before the query's own place"}},
       make_per_head},
      {"ring",
       "causal attention over several machines: the queries of one, the keys of another",
       {{"tokens", "4096", "tokens of all machines"},
        {"ranks", "2", "machines"},
        {"query-rank", "0", "the one with the queries"},
        {"key-rank", "0", "the one with the keys"},
        {"zigzag", "false", "each has a run from the front and one from the back"}},
       make_ring},
  };
}

}  // namespace tessera::registry
