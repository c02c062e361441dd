// The commands of the command line, each from arguments to text on standard output.
#pragma once

#include <string>

#include <tessera/library/cli/arguments.h>

namespace tessera::cli {

std::string patterns(const Arguments& arguments);
std::string inspect(const Arguments& arguments);
std::string explain(const Arguments& arguments);
std::string run(const Arguments& arguments);  // also writes arguments.output

}  // namespace tessera::cli
