// What is wrong with a command line that has the wrong words in it, in one sentence.
#pragma once

#include <CLI/CLI.hpp>

#include <tessera/dsl/diagnostics.h>

namespace tessera::cli {

// `app` after `error` left its parse: which command and pattern it had understood, and the words it had not.
UserError mistake(const CLI::App& app, const CLI::ParseError& error);

}  // namespace tessera::cli
