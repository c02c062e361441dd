// Machine code as text, by NVIDIA's disassembler where one is installed.
#pragma once

#include <string>

namespace tessera::library {

// By nvdisasm, else cuobjdump, of the directories that ptxas is looked for in. UserError where there is neither.
std::string disassemble(const std::string& cubin);

}  // namespace tessera::library
