// The text of a refusal, for tests that pin it.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include <tessera/dsl/diagnostics.h>

namespace tessera::test {

// What a UserError of `work` says after its place, which must be a line of `file`; "not refused" without one.
template <class Work>
std::string refusal_in(const char* file, const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    const std::string text = error.what();
    CHECK(std::string(error.loc() ? error.loc().file : "") == file);
    return text.substr(text.find("error: "));
  }
  return "not refused";
}

// What an InternalError of `work` says before the kernel that it prints; "none" without one.
template <class Work>
std::string complaint(const Work& work) {
  try {
    work();
  } catch (const InternalError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find("\nkernel "));
  }
  return "none";
}

}  // namespace tessera::test
