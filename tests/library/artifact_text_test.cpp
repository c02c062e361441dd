#include <tessera/library/artifact_text.h>

#include <doctest/doctest.h>

using namespace tessera;
using backend::SlotKind;

TEST_CASE("an artifact survives the cache") {
  backend::Artifact artifact{.entry = "forward",
                             .target = "sm_90a",
                             .ptx = ".version 8.6\n\"quoted\" \\ text\n",
                             .threads = 384,
                             .shared_bytes = 163912,
                             .slots = {{.kind = SlotKind::tensor_map, .param = 1, .columns = 64, .rows = 128},
                                       {.kind = SlotKind::tensor_map,
                                        .param = 1,
                                        .columns = 64,
                                        .rows = 49,
                                        .digits = {{112, 7, 4}, {1, 7, 4}},
                                        .complete = true},
                                       {.kind = SlotKind::multiple, .param = 1, .dim = 2, .digits = {{1, 64, 3}}},
                                       {.kind = SlotKind::stride, .param = 3, .dim = 2},
                                       {.kind = SlotKind::length, .axis = ir::Axis::named("Key")}},
                             .grid = {{ir::Axis::named("Query"), 128}, {ir::Axis::named("Head"), 1}}};
  auto back = library::parse_artifact(library::serialise(artifact));
  REQUIRE(back.has_value());
  CHECK(back->entry == artifact.entry);
  CHECK(back->target == artifact.target);
  CHECK(back->ptx == artifact.ptx);
  CHECK(back->threads == artifact.threads);
  CHECK(back->shared_bytes == artifact.shared_bytes);
  CHECK(back->slots == artifact.slots);
  CHECK(back->grid == artifact.grid);
}

TEST_CASE("bytes that are no artifact give nothing") {
  std::string text = library::serialise({});
  for (std::string bytes : {std::string(), std::string("{}"), std::string("[1]"), text.substr(0, text.size() / 2),
                            std::string("\0\xff", 2)}) {
    CHECK_FALSE(library::parse_artifact(bytes).has_value());
  }
}
