// What is done to scaled scores before the mask, by name. A score function sees a query, a key and their score, and
// gives the score that is used; several are applied from left to right. Write your own as a lambda:
//
//   Score near = [](ScoreValue s, Position q, Position k) { return s - 0.1f * cast<f32>(abs(q - k)); };
//
// Where the running maximum starts, at -1e30 in units of log2, scores end: a score below -6.9e29 counts as masked, as
// one of -inf does, and a row with no other scores as one that sees no key.
#pragma once

#include <string>
#include <vector>

#include <tessera/dsl/lang/score.h>
#include <tessera/library/patterns.h>

namespace tessera {

// cap * tanh(score / cap): scores stay within (-cap, cap), smoothly.
TESSERA_API Score softcap(double cap, SourceLoc loc = SourceLoc::here());

// ALiBi: minus slope of the head times the distance of the query's own place and the key, on either side.
TESSERA_API Score alibi(const std::vector<float>& slopes, Align align = Align::bottom_right,
                        SourceLoc loc = SourceLoc::here());
// With the usual slopes for this many heads.
TESSERA_API Score alibi(int heads, Align align = Align::bottom_right, SourceLoc loc = SourceLoc::here());
TESSERA_API std::vector<float> alibi_slopes(int heads, SourceLoc loc = SourceLoc::here());

// Plus bias[batch, head, query, key], f32, given at the call as the table `name`. Extents of 1 for batch and head are
// shared by all of them.
TESSERA_API Score dense_bias(const std::string& name = "bias", SourceLoc loc = SourceLoc::here());

}  // namespace tessera
