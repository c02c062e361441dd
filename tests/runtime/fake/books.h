// What tests over the stand-in driver share: its state, and the check that nothing is left of what a test did.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include <tessera/runtime/image.h>

#include "runtime/fake/attach.h"

namespace tessera::runtime::test {

// A fresh state for a test; afterwards nothing may be left of what it did.
struct Books {
  Books() { state() = {}; }
  ~Books() {
    CHECK(contexts().empty());
    CHECK(state().allocations.empty());
    CHECK(state().streams == 0);
    CHECK(state().events == 0);
    CHECK(state().modules == 0);
    CHECK(state().relaxed_captures == 0);
    for (auto [device, count] : state().retained) CHECK(count == 0);
  }
};

inline std::string library() { return environment(variable::cuda_driver).value_or(""); }

inline std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

inline Image ptx(const std::string& text) {
  Image image;
  image.kind = Image::Kind::ptx;
  image.bytes = text;
  return image;
}

}  // namespace tessera::runtime::test
