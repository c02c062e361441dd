// All pairs: a short list of combinations in which any two values of any two factors meet.
#pragma once

#include <cstddef>
#include <vector>

namespace tessera::test {

// `levels[f]` is how many values factor f has. Each row of the result has one value index a factor. Greedy,
// deterministic.
std::vector<std::vector<std::size_t>> pairwise(const std::vector<std::size_t>& levels);

}  // namespace tessera::test
