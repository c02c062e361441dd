// What tests over the stand-in driver share: its state, and the check that nothing is left of what a test did.
#pragma once

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include <tessera/runtime/environment.h>
#include <tessera/runtime/image.h>

#include "runtime/fake/driver.h"

namespace tessera::runtime::test {

// TESSERA_CUDA_DRIVER names the stand-in (tests/runtime.cmake), so this is the copy that driver() uses.
template <class F>
F* in_library(const char* name) {
  static void* library = dlopen(environment(variable::cuda_driver).value_or("").c_str(), RTLD_NOW);
  REQUIRE(library);
  return reinterpret_cast<F*>(dlsym(library, name));
}

inline fake::State& state() { return *in_library<decltype(tessera_fake_state)>("tessera_fake_state")(); }
inline std::vector<void*>& contexts() {
  return *in_library<decltype(tessera_fake_contexts)>("tessera_fake_contexts")();
}

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
