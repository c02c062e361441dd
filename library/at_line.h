// Errors from below, told at the user's line: the parts that compile and launch know no user's program.
#pragma once

#include <string>
#include <string_view>

#include <tessera/dsl/diagnostics.h>
#include <tessera/runtime/error.h>

namespace tessera::library {

// Runs `work`. UserErrors without a place get `loc`; the runtime's errors become UserErrors.
template <class Work>
auto at_line(SourceLoc loc, Work&& work) {
  try {
    return work();
  } catch (const UserError& error) {
    if (error.loc() || !loc) throw;
    std::string_view text = error.what();
    constexpr std::string_view prefix = "error: ";
    if (text.substr(0, prefix.size()) == prefix) text.remove_prefix(prefix.size());
    throw UserError(loc, std::string(text));
  } catch (const runtime::Error& error) {
    throw UserError(loc, error.cause(), error.remedy());
  }
}

}  // namespace tessera::library
