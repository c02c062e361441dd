// How the command says that it failed: one line.
//
//   tessera: error: there is no pattern 'causl'; note: did you mean causal? there are: full, causal, ...
//   {"error":"there is no pattern 'causl'","note":"did you mean causal? ...","code":1}
#pragma once

#include <string>

namespace tessera::cli {

// `what`: the text of the exception. As JSON, "note" is null where the text has no remedy.
std::string failure_line(std::string what, int code, bool json);

}  // namespace tessera::cli
