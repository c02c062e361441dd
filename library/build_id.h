// Which build of our code runs: part of the key of what it compiled. A compiler that was changed must not be given what
// its predecessor made, and nobody remembers to count versions.
#pragma once

#include <string>

namespace tessera::library {

// The GNU build ID, in hex, of the program or shared library that `code` is in; empty where the linker gave it none.
std::string build_id_of(const void* code);

// The build IDs of everything that has a part in compiling.
std::string compiler_build_ids();

}  // namespace tessera::library
