// The two kinds of failure, and where in the user's program they happened.
//
// A UserError is something the user can mend: it names file:line, the cause with its numbers, and the remedy.
// An InternalError is our bug: it says so, and carries the IR that was being worked on.
// Nothing is printed in place of being reported: every failure travels as one of these exceptions.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#if defined(__GNUC__)
#define TESSERA_API __attribute__((visibility("default")))
#else
#define TESSERA_API
#endif

namespace tessera {

// A place in the user's source. Captured at call sites by `SourceLoc loc = SourceLoc::here()` default arguments
// (std::source_location is missing from clang 14 on libstdc++ 12).
struct SourceLoc {
  const char* file = nullptr;  // a string literal: lives as long as the program
  int line = 0;

  static constexpr SourceLoc here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  explicit operator bool() const { return file != nullptr; }
};

// "path/kernel.cpp:12", or "<unknown>" for a place nobody recorded.
TESSERA_API std::string to_string(SourceLoc loc);

class TESSERA_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `cause` holds the numbers; `remedy` says what to do instead. Both are clauses without a final period.
//   what(): "kernel.cpp:12: error: head_dim is 100, not a multiple of 8; note: pad Q, K and V to 104 columns"
class TESSERA_API UserError : public Error {
 public:
  UserError(SourceLoc loc, const std::string& cause, const std::string& remedy = {});
  SourceLoc loc() const { return loc_; }

 private:
  SourceLoc loc_;
};

// A broken promise between our own parts. `ir` is the printed kernel at the time, empty if none was at hand.
class TESSERA_API InternalError : public Error {
 public:
  explicit InternalError(const std::string& what, std::string ir = {});
  const std::string& ir() const { return ir_; }

 private:
  std::string ir_;
};

// Throws InternalError unless `condition` holds.
inline void ensure(bool condition, const char* what) {
  if (!condition) throw InternalError(what);
}

}  // namespace tessera
