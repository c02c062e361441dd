// Which names a mistyped one may have meant.
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

// The least number of letters to insert, drop, replace or swap with a neighbour that makes `a` of `b`.
int edit_distance(const std::string& a, const std::string& b);

// Names that `word` starts, or that are a slip or two away from it (one edit for three letters), whole or in one of the
// parts between dashes; the nearest first. Dashes in front count for nothing.
std::vector<std::string> nearest(const std::string& word, const std::vector<std::string>& names);

// "did you mean causal?", with the names to choose from behind it; the names alone where none is near.
std::string choices(const std::string& word, const std::vector<std::string>& names);

}  // namespace tessera::cli
