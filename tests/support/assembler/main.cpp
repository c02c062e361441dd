// main of the tests that need ptxas: without one they are skipped, with the reason. ctest knows 77 as "skipped".
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "support/ptxas.h"

int main(int argc, char** argv) {
  if (!tessera::test::assemble("", "sm_90a").available) {
    std::printf("skipped: there is no ptxas in PATH\n");
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
