// Checks a refusal by what its reader sees: the file and line it names, the cause, the remedy.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include <tessera/dsl/diagnostics.h>

namespace tessera::test {

// Runs `body`, which must throw a UserError whose text contains every one of `parts`, at `line` of `file` (0: nowhere).
template <class Body, class... Parts>
void expect_user_error(const char* file, int line, const Body& body, const Parts&... parts) {
  try {
    body();
  } catch (const UserError& error) {
    const std::string text = error.what();
    INFO(text);
    CHECK(error.loc().line == line);
    if (line) CHECK(std::string(error.loc().file) == file);
    for (const std::string& part : {std::string(parts)...}) {
      INFO("expected: ", part);
      CHECK(text.find(part) != std::string::npos);
    }
    return;
  }
  FAIL_CHECK("no UserError was thrown; expected " << (std::string(parts) + ... + std::string()));
}

}  // namespace tessera::test
