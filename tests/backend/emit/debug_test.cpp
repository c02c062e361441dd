#include <doctest/doctest.h>

#include <future>

#include "backend/emit/kernels.h"

namespace tessera::test {

TEST_CASE("line information names the user's lines and keeps the fast target") {
  ir::Kernel kernel = fused_elementwise();
  int line = 100;
  for (ir::Op& op : kernel.entry.ops) op.loc = {"user/kernel.cpp", line++};
  const backend::Emitted with = emitted(kernel, {.line_info = true}), without = emitted(kernel);
  CHECK(count(with.artifact.ptx, ".loc") > 0);
  CHECK(count(with.artifact.ptx, "kernel.cpp") > 0);
  CHECK(count(with.artifact.ptx, ", debug") == 0);
  CHECK(count(without.artifact.ptx, ".loc") == 0);
  assembles(with, 128);
}

TEST_CASE("kernels are emitted from several threads at once") {
  const std::string expected = emitted(matmul(false)).artifact.ptx;
  std::vector<std::future<std::string>> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(std::async(
        std::launch::async, [] { return backend::emit(matmul(false), backend::target_named("sm_90a")).artifact.ptx; }));
  for (auto& ptx : all) CHECK(ptx.get() == expected);
}

}  // namespace tessera::test
