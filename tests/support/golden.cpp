#include "support/golden.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

namespace tessera::test {

namespace {

std::string first_difference(const std::string& expected, const std::string& found) {
  std::istringstream a(expected), b(found);
  std::string x, y;
  for (int line = 1;; ++line) {
    const bool more_a = static_cast<bool>(std::getline(a, x)), more_b = static_cast<bool>(std::getline(b, y));
    if (!more_a && !more_b) return "the texts differ in their last newline";
    if (more_a && more_b && x == y) continue;
    return "line " + std::to_string(line) + "\n  expected: " + (more_a ? x : "<end>") +
           "\n  found:    " + (more_b ? y : "<end>");
  }
}

}  // namespace

void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(TESSERA_TESTS_DIR) + "/golden/" + name + ".txt";
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update && *update == '1') {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  if (!file) {
    FAIL_CHECK("no golden text " << path << "; make it with UPDATE_GOLDEN=1");
    return;
  }
  std::ostringstream expected;
  expected << file.rdbuf();
  if (expected.str() != text) FAIL_CHECK(path << ": " << first_difference(expected.str(), text));
}

}  // namespace tessera::test
