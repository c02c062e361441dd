// The stand-in driver of this process, which TESSERA_CUDA_DRIVER names: the copy that runtime::driver() uses.
#pragma once

#include <dlfcn.h>

#include <stdexcept>

#include <tessera/runtime/environment.h>

#include "runtime/fake/driver.h"

namespace tessera::runtime::test {

template <class F>
F* in_library(const char* name) {
  static void* library = dlopen(environment(variable::cuda_driver).value_or("").c_str(), RTLD_NOW);
  if (!library) throw std::runtime_error("TESSERA_CUDA_DRIVER does not name the stand-in driver");
  return reinterpret_cast<F*>(dlsym(library, name));
}

inline fake::State& state() { return *in_library<decltype(tessera_fake_state)>("tessera_fake_state")(); }
inline fake::Contexts& contexts() { return *in_library<decltype(tessera_fake_contexts)>("tessera_fake_contexts")(); }

}  // namespace tessera::runtime::test
