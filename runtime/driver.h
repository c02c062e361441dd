// NVIDIA's driver library, opened at run time: the same program runs where there is none, and says why.
//
// Every entry point is called through an Entry, which turns a failure into a DriverError that names the call and the
// driver's own words; `.status(...)` is the same call for those who treat a failure themselves.
#pragma once

#include <string>
#include <type_traits>

#include <tessera/runtime/driver_types.h>
#include <tessera/runtime/error.h>

namespace tessera::runtime {

class Driver;

// There is no usable driver; the cause says what was tried.
class NoDriver : public Error {
 public:
  using Error::Error;
};

// A driver call failed. `context` says what it was for, and may be empty.
//   what(): "cuMemFree failed: CUDA_ERROR_INVALID_VALUE (1): invalid argument, while ..."
class DriverError : public Error {
 public:
  DriverError(const Driver& driver, const char* call, cu::Result code, std::string context = {},
              std::string remedy = {});

  const char* call() const { return call_; }
  cu::Result code() const { return code_; }
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  const std::string& context() const { return context_; }

 private:
  DriverError(const char* call, cu::Result code, std::string name, std::string text, std::string context,
              std::string remedy);

  const char* call_;
  cu::Result code_;
  std::string name_, text_, context_;
};

// One entry point of the driver.
template <class Signature>
class Entry;

template <class... Args>
class Entry<cu::Result(Args...)> {
 public:
  Entry(const Driver* driver, const char* name, void* address)
      : driver_(driver), name_(name), function_(reinterpret_cast<cu::Result (*)(Args...)>(address)) {}

  void operator()(Args... args) const {
    if (cu::Result result = function_(args...); result != cu::Result::success) {
      throw DriverError(*driver_, name_, result);
    }
  }
  cu::Result status(Args... args) const { return function_(args...); }
  const char* name() const { return name_; }

 private:
  const Driver* driver_;
  const char* name_;
  cu::Result (*function_)(Args...);
};

class Driver {
 public:
  // The interface that entry points are asked for: tensor maps came with CUDA 12.0.
  static constexpr int abi = 12000;

  // Opens and initialises; throws NoDriver. The library stays open for the life of the process.
  explicit Driver(const std::string& library);
  Driver(const Driver&) = delete;

  int version() const { return version_; }  // 13000 for CUDA 13.0

  // An entry point outside our table, by name.
  void* find(const char* symbol) const { return resolve(handle_, symbol); }

 private:
  static void* open(const std::string& library);
  static void* resolve(void* handle, const char* symbol);

  void* handle_;
  int version_ = 0;

 public:
#define FUNCTION(member, symbol, parameters) Entry<cu::Result parameters> member;
#include <tessera/runtime/driver_functions.def>
#undef FUNCTION
};

// The driver of this process, opened on first use: libcuda.so.1, or what TESSERA_CUDA_DRIVER names. Throws NoDriver.
const Driver& driver();

// Why driver() would throw; empty if it would not.
const std::string& driver_missing();

// "CUDA 13.0" for 13000.
std::string cuda_version_text(int version);

}  // namespace tessera::runtime
