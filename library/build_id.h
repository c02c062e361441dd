// Which build of our code runs: part of the key of what it compiled. A compiler that was changed must not be given what
// its predecessor made, and nobody remembers to count versions.
#pragma once

#include <string>

namespace tessera::library {

// The GNU build ID, in hex, of the program or shared library that `code` is in; empty where the linker gave it none.
std::string build_id_of(const void* code);

// What tells that build from every other. Without a build ID it is the hash of the file, if that is still the one that
// was loaded; of a file that is gone or was replaced nobody can tell, and then it is a name that no other process has.
std::string identity_of(const void* code);

// The identities of everything that has a part in compiling.
std::string compiler_identity();

}  // namespace tessera::library
