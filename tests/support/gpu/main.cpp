// main of the tests that need a GPU: without one they are skipped, with the reason. ctest knows 77 as "skipped".
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include <tessera/runtime/device.h>

int main(int argc, char** argv) {
  using namespace tessera::runtime;
  std::string reason = driver_missing();
  if (reason.empty() && device_count() == 0) reason = "the driver sees no device";
  if (!reason.empty()) {
    std::printf("skipped: %s\n", reason.c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
