#include <doctest/doctest.h>

#include "backend/emit/kernels.h"

namespace tessera::test {

TEST_CASE("a row in one warp reduces over registers and lanes only") {
  const backend::Emitted e = emitted(row_statistics(1));
  CHECK(e.artifact.shared_bytes == 0);
  CHECK(count(e.artifact.ptx, "shfl.sync.bfly") == 2 * 4 * 5);  // two reductions, four rows a thread, five lane bits
  CHECK(count(e.artifact.ptx, "bar.sync") + count(e.artifact.ptx, "barrier.sync") == 0);
  assembles(e, 128);
}

TEST_CASE("a row over several warps meets in shared memory") {
  for (int warps : {2, 4}) {
    CAPTURE(warps);
    const int rows = 16 / (4 / warps);
    const backend::Emitted e = emitted(row_statistics(warps));
    CHECK(e.artifact.shared_bytes == 4 * rows * 32 * 4);
    CHECK(count(e.artifact.ptx, "st.shared") == 2 * rows);
    CHECK(count(e.artifact.ptx, "ld.shared") == 2 * rows * warps);
    CHECK(count(e.artifact.ptx, "bar.sync") + count(e.artifact.ptx, "barrier.sync") == 4);
    assembles(e, 128);
  }
}

TEST_CASE("a layout change goes through shared memory, or nowhere if threads keep their elements") {
  const auto text = R"(kernel turn placed grid(Query:16) threads 128 {
  param x: in f32[Query, Depth]
  param y: out f32[Query, Depth]
  whole Depth:64
  layout #0 {reg 4*Depth:1 2*Query:8 | lane 16*Depth:4 2*Query:1 | warp 4*Query:2}
  layout #1 $to
  %c0 = constant 0 : i32
  %c16 = constant 16 : i32
  %0 = program_id Query : i32
  %1 = mul %0, %c16 : i32
  %2 = load x(%1, %c0) : f32[Query:16, Depth:64] #0
  %3 = convert %2 : f32[Query:16, Depth:64] #1
  store y(%1, %c0), %3
})";
  const backend::Emitted moved =
      emitted(placed(text, {{"to", "{reg 2*Depth:32 4*Query:4 | lane 32*Depth:1 | warp 4*Query:1}"}}));
  CHECK(moved.artifact.shared_bytes == 16 * 64 * 4);
  CHECK(count(moved.artifact.ptx, "st.shared") >= 1);
  assembles(moved, 64);
  const backend::Emitted kept =
      emitted(placed(text, {{"to", "{reg 2*Query:8 4*Depth:1 | lane 16*Depth:4 2*Query:1 | warp 4*Query:2}"}}));
  CHECK(kept.artifact.shared_bytes == 0);
  assembles(kept, 64);
}

}  // namespace tessera::test
