#include <doctest/doctest.h>

#include <tessera/runtime/environment.h>

#include "runtime/scope.h"

using namespace tessera::runtime;
using test::ScopedVariable;

TEST_CASE("an empty variable counts as unset") {
  ScopedVariable cleared(variable::ptxas, std::nullopt);
  CHECK(!environment(variable::ptxas));
  ScopedVariable empty(variable::ptxas, "");
  CHECK(!environment(variable::ptxas));
  ScopedVariable some(variable::ptxas, "x");
  CHECK(environment(variable::ptxas) == "x");
}

TEST_CASE("the cache directory: own variable, then XDG, then home") {
  ScopedVariable own(variable::cache_dir, "relative/own"), xdg(variable::xdg_cache_home, "/xdg"),
      home(variable::home, "/home/someone");
  CHECK(cache_directory() == "relative/own");
  ScopedVariable no_own(variable::cache_dir, std::nullopt);
  CHECK(cache_directory() == "/xdg/tessera");
  {
    ScopedVariable relative(variable::xdg_cache_home, "xdg");
    CHECK(cache_directory() == "/home/someone/.cache/tessera");
  }
  ScopedVariable no_xdg(variable::xdg_cache_home, std::nullopt), no_home(variable::home, std::nullopt);
  CHECK(!cache_directory());
}

TEST_CASE("the cache limit is a positive number of megabytes") {
  auto limit = [](const char* text) {
    ScopedVariable variable(variable::cache_megabytes, text);
    return cache_limit();
  };
  CHECK(limit("1") == 1 << 20);
  CHECK(limit("4096") == std::int64_t{4096} << 20);
  for (const char* bad : {"", "0", "-1", "1.5", "12 MB", "x", "99999999999999999999", "9999999999999"}) {
    CAPTURE(bad);
    CHECK(!limit(bad));
  }
}

TEST_CASE("programs are looked for in absolute directories of PATH, then in CUDA's") {
  ScopedVariable path(variable::path, "/a:relative::/b:."), cuda(variable::cuda_home, "/c");
  CHECK(program_directories() == std::vector<std::string>{"/a", "/b", "/c/bin", "/usr/local/cuda/bin"});
  ScopedVariable no_path(variable::path, std::nullopt), no_cuda(variable::cuda_home, std::nullopt);
  CHECK(program_directories() == std::vector<std::string>{"/usr/local/cuda/bin"});
}

TEST_CASE("temporary files go to TMPDIR, or /tmp") {
  ScopedVariable variable(variable::tmpdir, "/elsewhere");
  CHECK(temporary_directory() == "/elsewhere");
  ScopedVariable none(variable::tmpdir, std::nullopt);
  CHECK(temporary_directory() == "/tmp");
}
