// Placed kernels for tests of the emitter, written out: what the passes make is not what these tests are about.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tessera/backend/emit/emit.h>

#include "support/ptxas.h"

namespace tessera::test {

// Parses a placed kernel after replacing each $name by its text. Fails the test if the kernel is not legal.
ir::Kernel placed(std::string text, const std::vector<std::pair<std::string, std::string>>& names = {});

backend::Emitted emitted(const ir::Kernel& kernel, const backend::EmitOptions& options = {});

// Assembles and checks that nothing was spilled or given up. False (with a message) where there is no ptxas.
bool assembles(const backend::Emitted& emitted, int registers_at_most);

// o = max(q + k * 2, 0) on bf16, tiles of 32 x 64 by 4 warps; masks rows past the end.
ir::Kernel fused_elementwise();

// y = x - (row maximum), p = row sum of exp2(y): a row of 256 columns over `warps_on_columns` of the four warps.
ir::Kernel row_statistics(int warps_on_columns);

// o = 1 where query >= key and query - key < width, else 0: positions and masks, in the accumulator's layout.
ir::Kernel band();

// o = 1 where `key code query`; with both ends also query + 100 > key, which has to hold too where `code` is ge.
ir::Kernel interval(bool both_ends, const std::string& code = "ge");

// o = 1 where |query - key| `code` 100 or key < 4.
ir::Kernel near(const std::string& code);

// c[Row, Column] = a b with a producer and two consumers; b is [Inner, Column], or [Column, Inner] if `transposed`.
ir::Kernel matmul(bool transposed);

// Attention: dot, bound of the last tile, online softmax, dot; two consumers, two stages. `bounded`: keys past a length
// read from a table are zeros whatever is in memory.
ir::Kernel forward(int head_dim, bool bounded = false);

}  // namespace tessera::test
