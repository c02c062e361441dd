#include <tessera/backend/passes/overlap_products.h>

#include <doctest/doctest.h>

#include <tessera/backend/compile.h>
#include <tessera/dsl/ir/print.h>

#include "backend/tiled_kernels.h"

using namespace tessera;

namespace {

std::string placed(bool overlap, const ir::Kernel& kernel) {
  return ir::print(backend::place(kernel, backend::target_named("sm_90a"), {.overlap = overlap}));
}

int count(const std::string& text, const std::string& what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the loop over full tiles issues the last product beside the next first one; the partial loop stays") {
  const std::string before = placed(false, test::tiled_attention()), after = placed(true, test::tiled_attention());
  CHECK(count(before, "mma_wait 1") == 0);
  CHECK(count(before, " = mma ") == 4);
  CHECK(count(after, "mma_wait 1") == 1);
  CHECK(count(after, " = mma ") == 2 + 4);  // partial: two; full: the first product, the pair, the last product
  const std::size_t wait = after.find("mma_wait 1"), loop = after.rfind("loop ", wait);
  CHECK(count(after.substr(loop, wait - loop), " = mma ") == 2);
  CHECK(after.find("%pending", loop) != std::string::npos);
}

TEST_CASE("a loop with one product has nothing to run beside it") {
  CHECK(placed(true, test::tiled_matmul()) == placed(false, test::tiled_matmul()));
  CHECK(placed(true, test::tiled_rows()) == placed(false, test::tiled_rows()));
}
