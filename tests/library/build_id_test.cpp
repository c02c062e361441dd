// Identities tell apart the files that code is loaded from, with build IDs and without.
#include <tessera/library/build_id.h>

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include <doctest/doctest.h>

#include <tessera/backend/compile.h>
#include <tessera/runtime/process.h>

using namespace tessera::library;

namespace {

// A library that was linked without a build ID: the first or the second of two builds.
std::string library(int number) { return number == 1 ? TESSERA_LIBRARY_WITHOUT_ID_1 : TESSERA_LIBRARY_WITHOUT_ID_2; }
const void* code_of(const std::string& path) {
  void* loaded = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(loaded != nullptr);
  const void* code = dlsym(loaded, "tessera_test_code");
  REQUIRE(code != nullptr);
  return code;
}

bool is_hash(const std::string& identity) { return identity.rfind("file ", 0) == 0 && identity.size() == 5 + 32; }

}  // namespace

TEST_CASE("code of one file has one build ID, code of another has another") {
  static const int here = 0;
  const std::string ours = build_id_of(&here);
  CHECK(ours.size() >= 16);
  CHECK(identity_of(&here) == ours);
  CHECK(ours == build_id_of(reinterpret_cast<const void*>(&tessera::backend::compile)));  // linked statically
  CHECK(ours != build_id_of(reinterpret_cast<const void*>(&std::strtol)));
  CHECK(compiler_identity().find(ours) == 0);
  CHECK(compiler_identity().size() > ours.size() + 16);  // that of the emitting library too
  CHECK(compiler_identity() != ours + " " + ours);
}

TEST_CASE("an address that nothing is loaded at has no build ID, and an identity that nothing else has") {
  CHECK(build_id_of(nullptr) == "");
  CHECK(identity_of(nullptr).rfind("process ", 0) == 0);
  const int local = 0;  // on the stack: mapped, and of no file
  CHECK(identity_of(&local) == identity_of(nullptr));
}

TEST_CASE("without a build ID, what the file holds is the identity") {
  const void* one = code_of(library(1));
  const void* other = code_of(library(2));
  REQUIRE(build_id_of(one) == "");
  CHECK(is_hash(identity_of(one)));
  CHECK(is_hash(identity_of(other)));
  CHECK(identity_of(one) != identity_of(other));  // though their instructions are the same

  const tessera::runtime::TemporaryDirectory folder;  // where it lies and when it was made does not matter
  std::filesystem::copy(library(1), folder.file("again.so"));
  CHECK(identity_of(code_of(folder.file("again.so"))) == identity_of(one));
}

TEST_CASE("code whose file was replaced or removed is not taken for what is there now") {
  const tessera::runtime::TemporaryDirectory folder;
  const std::string path = folder.file("loaded.so");
  std::filesystem::copy(library(1), path);
  const void* code = code_of(path);
  CHECK(is_hash(identity_of(code)));
  std::filesystem::copy(library(2), folder.file("newer.so"));
  std::filesystem::rename(folder.file("newer.so"), path);  // as linkers and package managers do
  const std::string replaced = identity_of(code);
  CHECK(replaced.rfind("process ", 0) == 0);
  std::filesystem::remove(path);
  CHECK(identity_of(code) == replaced);
}
