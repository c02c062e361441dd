// What measuring and tuning refuse.
#include <tessera/library/bench/workload.h>
#include <tessera/library/tune_store.h>

#include <filesystem>
#include <fstream>

#include "support/refusal.h"

using namespace tessera;
using namespace tessera::bench;

namespace {

// These have no line of the user's.
template <class Work>
std::string refusal(const Work& work) {
  return test::refusal_in("", work);
}

}  // namespace

TEST_CASE("suites and workloads") {
  CHECK(refusal([] { suite("fast"); }) ==
        "error: there is no suite 'fast'; note: there are: standard, quick, all, lengths");
  CHECK(refusal([] { only(only(suite("standard"), {"_gqa_", "prefix"}), {"spiral", "helix"}); }) ==
        "error: no workload of the suite has 'spiral' or 'helix' in its name; note: there are: causal_gqa_n16k_d128, "
        "prefix2k_n16k_d128");
}

TEST_CASE("results of tuning that cannot be kept") {
  const library::TuneKey key{"card", "kernel", 128, 128, "queries 4096"};
  const library::TuneChoice choice{{128, 128}, {}};
  CHECK(
      refusal([&] { library::TuneStore("", "compiler").save(key, choice, 1); }) ==
      "error: there is no cache directory to keep the result in; note: set TESSERA_CACHE_DIR, XDG_CACHE_HOME or HOME");
  const auto file = std::filesystem::temp_directory_path() / ("tessera_no_folder_" + std::to_string(::getpid()));
  std::ofstream(file) << "not a folder";
  CHECK(refusal([&] { library::TuneStore(file.string(), "compiler").save(key, choice, 1); }) ==
        "error: the result cannot be kept in " + file.string() + "/" + key.hash().hex() +
            ".tuning: Not a directory; note: make the folder writable, free space there, or set TESSERA_CACHE_DIR");
  std::filesystem::remove(file);
}
