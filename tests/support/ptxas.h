// Assembles PTX for tests and reads the assembler's report: generated code is judged without a GPU.
#pragma once

#include <string>
#include <vector>

namespace tessera::test {

struct Assembly {
  bool available = false;  // ptxas was found; the rest means nothing without it
  bool ok = false;
  int registers = 0;
  int spill_bytes = 0;                // stores and loads together
  std::vector<std::string> warnings;  // any line with a warning or a C75xx note (wgmma or setmaxnreg given up)
  std::string log;
};

// `target`: "sm_90a". Looks for ptxas in PATH.
Assembly assemble(const std::string& ptx, const std::string& target);

// Occurrences of `text` in `ptx`.
int count(const std::string& ptx, const std::string& text);

}  // namespace tessera::test
