// Random masks whose rows are progressions: long and short, of no key and of one, of any stride.
#pragma once

#include <algorithm>
#include <random>

#include <tessera/library/acsr/acsr.h>

namespace tessera::test {

inline Acsr random_acsr(std::mt19937_64& random, std::int64_t rows, std::int64_t columns) {
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  Acsr acsr{columns, {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    Progression row;
    row.first = static_cast<std::int32_t>(draw(0, columns - 1));
    row.stride = static_cast<std::int32_t>(draw(0, 2) ? 1 : draw(1, 9));
    row.count = static_cast<std::int32_t>(draw(0, (columns - 1 - row.first) / row.stride + 1));
    if (draw(0, 5) == 0) row.count = static_cast<std::int32_t>(draw(0, 1));
    if (row.count < 2) row.stride = 1;
    if (row.count == 0) row.first = 0;
    acsr.rows.push_back(row);
  }
  return acsr;
}

}  // namespace tessera::test
