// What the runtime throws. It knows no user's program, so its errors carry no source location: whoever called it with a
// user's arguments adds that. `cause` has the numbers, `remedy` says what to do instead; both are clauses without a
// final period.
#pragma once

#include <stdexcept>
#include <string>

namespace tessera::runtime {

class Error : public std::runtime_error {
 public:
  explicit Error(std::string cause, std::string remedy = {})
      : std::runtime_error(remedy.empty() ? cause : cause + "; note: " + remedy),
        cause_(std::move(cause)),
        remedy_(std::move(remedy)) {}

  const std::string& cause() const { return cause_; }
  const std::string& remedy() const { return remedy_; }

 private:
  std::string cause_;
  std::string remedy_;
};

}  // namespace tessera::runtime
