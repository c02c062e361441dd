// The commands of the command line, each from arguments to text on standard output.
#pragma once

#include <string>

#include <tessera/library/cli/arguments.h>

namespace tessera::cli {

std::string version(const Arguments& arguments);
std::string patterns(const Arguments& arguments);
std::string inspect(const Arguments& arguments);
std::string explain(const Arguments& arguments);
std::string simulate(const Arguments& arguments);
std::string draw(const Arguments& arguments);   // also writes arguments.output, where one is given
std::string run(const Arguments& arguments);    // also writes arguments.output
std::string bench(const Arguments& arguments);  // likewise, where one is given
std::string tune(const Arguments& arguments);   // also keeps its result in the cache directory

}  // namespace tessera::cli
