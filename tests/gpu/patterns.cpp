#include "gpu/patterns.h"

#include <cmath>

namespace tessera::test {

namespace {

std::int64_t shift(const Case& c) { return c.keys - c.queries; }

// Document ids of growing documents, as many as there are tokens.
std::vector<std::int32_t> ids_for(std::int64_t tokens) {
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; static_cast<std::int64_t>(ids.size()) < tokens; ++id)
    ids.insert(ids.end(), static_cast<std::size_t>(17 + 61 * (id % 7)), id);
  ids.resize(static_cast<std::size_t>(tokens));
  return ids;
}

void window_both(Case& c) {
  c.mask = window(100, 37);
  c.allowed = [d = shift(c)](const Pair& p) { return p.k <= p.q + d + 37 && p.k >= p.q + d - 100; };
}

void documents_causal(Case& c) {
  auto ids = ids_for(std::max(c.queries, c.keys));
  c.mask = causal(Align::top_left) & documents(ids);
  c.allowed = [ids](const Pair& p) {
    return p.k <= p.q && ids[static_cast<std::size_t>(p.q)] == ids[static_cast<std::size_t>(p.k)];
  };
}

void padded_keys(Case& c) {
  c.key_lengths.clear();
  for (std::int64_t b = 0; b < c.batch; ++b)
    c.key_lengths.push_back(c.keys - std::min<std::int64_t>(c.keys, 1 + 70 * b));
}

void softcap_alibi(Case& c) {
  c.scores = {softcap(5), alibi(static_cast<int>(c.heads), Align::top_left)};
  c.mask = causal(Align::top_left);
  c.allowed = [](const Pair& p) { return p.k <= p.q; };
  const std::vector<float> slopes = alibi_slopes(static_cast<int>(c.heads));
  c.score = [slopes](const Pair& p, double s) {
    return 5 * std::tanh(s / 5) - slopes[static_cast<std::size_t>(p.head)] * std::abs(static_cast<double>(p.q - p.k));
  };
}

void strided_or_recent(Case& c) {
  c.mask = [](Position q, Position k) { return k <= q && (q - k < 40 || (q - k) % 64 == 0); };
  c.allowed = [](const Pair& p) { return p.k <= p.q && (p.q - p.k < 40 || (p.q - p.k) % 64 == 0); };
}

}  // namespace

const std::vector<PatternCase>& pattern_cases() {
  static const std::vector<PatternCase> cases = {
      {"full", [](Case&) {}},
      {"causal",
       [](Case& c) {
         c.mask = causal;
         c.allowed = [d = shift(c)](const Pair& p) { return p.k <= p.q + d; };
       }},
      {"causal top-left",
       [](Case& c) {
         c.mask = causal(Align::top_left);
         c.allowed = [](const Pair& p) { return p.k <= p.q; };
       }},
      {"window", window_both},
      {"causal window",
       [](Case& c) {
         c.mask = window(256, 0);
         c.allowed = [d = shift(c)](const Pair& p) { return p.k <= p.q + d && p.k >= p.q + d - 256; };
       }},
      {"prefix",
       [](Case& c) {
         c.mask = prefix(200);
         c.allowed = [d = shift(c)](const Pair& p) { return p.k < 200 || p.k <= p.q + d; };
       }},
      {"sinks and window",
       [](Case& c) {
         c.mask = sink_window(4, 150);
         c.allowed = [d = shift(c)](const Pair& p) { return p.k <= p.q + d && (p.k < 4 || p.k >= p.q + d - 150); };
       }},
      {"block-diagonal",
       [](Case& c) {
         c.mask = block_diagonal(192, Align::top_left);
         c.allowed = [](const Pair& p) { return p.q / 192 == p.k / 192; };
       }},
      {"documents, causal", documents_causal},
      {"key lengths", padded_keys},
      {"soft cap and ALiBi", softcap_alibi},
      {"strided or recent", strided_or_recent},
      {"not the window",
       [](Case& c) {
         c.mask = ~window(64, 64);
         c.allowed = [d = shift(c)](const Pair& p) { return p.k > p.q + d + 64 || p.k < p.q + d - 64; };
       }},
  };
  return cases;
}

}  // namespace tessera::test
