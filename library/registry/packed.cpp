#include <algorithm>

#include <fmt/format.h>

#include <tessera/library/registry/rows.h>

namespace tessera::registry {

using Values = PatternValues;

namespace {

constexpr std::int64_t kMost = 1 << 30;  // what masks are planned for

// Of all texts together. Checked before anything of that size is made.
std::int64_t tokens_of_texts(const Values& values, const char* texts) {
  std::int64_t tokens = 0;
  for (std::int64_t length : values.integers("lengths")) {
    if (length < 0 || length > kMost) {
      throw UserError({}, fmt::format("a {} of --lengths has {} tokens", texts, length),
                      fmt::format("give 0 to {}", kMost));
    }
    tokens = std::min(tokens + length, kMost + 1);
  }
  if (tokens == 0 || tokens > kMost) {
    throw UserError({},
                    tokens == 0 ? fmt::format("the {}s of --lengths have no token", texts)
                                : fmt::format("the {}s of --lengths have more than {} tokens", texts, kMost),
                    fmt::format("give lengths of 1 to {} tokens in all", kMost));
  }
  return tokens;
}

std::int64_t tokens_of_documents(const Values& v) { return tokens_of_texts(v, "document"); }

Mask make_documents(const Values& v) {
  tokens_of_documents(v);
  return with_causal(documents(document_ids(v.integers("lengths"), kNowhere), kNowhere), v);
}

Mask make_shared_prefix(const Values& v) {
  tokens_of_texts(v, "text");
  return shared_prefix({.lengths = v.integers("lengths"), .prefix = v.small_integers("prefix")}, kNowhere);
}

Mask make_image_intervals(const Values& v) {
  return image_intervals({.keys_per_image = v.integer("keys-per-image"),
                          .first = v.small_integers("first"),
                          .end = v.small_integers("end")},
                         kNowhere);
}

}  // namespace

std::vector<Pattern> packed_patterns() {
  return {
      {"documents",
       "keys of the query's own document, by a side table",
       {{"lengths", "", "tokens of each document, as 100,28,300"}, kCausal},
       make_documents,
       tokens_of_documents},
      {"shared-prefix",
       "texts that are causal, and see the prompt that they answer",
       {{"lengths", "", "tokens of each text, as 100,28,300"},
        {"prefix", "", "of each text the prompt, counted from 0, or -1, as -1,0,0"}},
       make_shared_prefix},
      {"tree",
       "nodes that see their ancestors and all keys before the tree",
       {{"parents", "", "of each node its parent, counted from 0, or -1, as -1,0,0,1"}},
       [](const Values& v) { return tree(v.small_integers("parents"), kNowhere); }},
      {"image-intervals",
       "images that the queries of an interval see",
       {{"keys-per-image", "", "keys of an image"},
        {"first", "", "of each image the first query, as 0,100"},
        {"end", "", "of each image the query after the last, as 100,300"}},
       make_image_intervals},
      {"global-window",
       "keys near the query, and tokens that see and are seen by all",
       {{"width", "256", "keys to a side"}, {"count", "64", "first tokens, which are global"}},
       [](const Values& v) { return global_window(v.integer("width"), v.integer("count"), kNowhere); }},
      {"star",
       "neighbours, and a hub that sees and is seen by all",
       {{"hub", "0", "the hub"}},
       [](const Values& v) { return star(v.integer("hub"), kNowhere); }},
  };
}

}  // namespace tessera::registry
