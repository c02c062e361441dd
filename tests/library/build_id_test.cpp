// Build IDs tell apart the files that code is loaded from.
#include <tessera/library/build_id.h>

#include <cstdlib>

#include <doctest/doctest.h>

#include <tessera/backend/compile.h>

using namespace tessera::library;

TEST_CASE("code of one file has one build ID, code of another has another") {
  static const int here = 0;
  const std::string ours = build_id_of(&here);
  CHECK(ours.size() >= 16);
  CHECK(ours == build_id_of(reinterpret_cast<const void*>(&tessera::backend::compile)));  // linked statically
  CHECK(ours != build_id_of(reinterpret_cast<const void*>(&std::strtol)));
  CHECK(compiler_build_ids().find(ours) == 0);
  CHECK(compiler_build_ids().size() > ours.size() + 16);  // that of the emitting library too
  CHECK(compiler_build_ids() != ours + " " + ours);
}

TEST_CASE("an address that nothing is loaded at has none") { CHECK(build_id_of(nullptr) == ""); }
