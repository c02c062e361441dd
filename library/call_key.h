// Everything of a call that its launch depends on except addresses and the values of scalars: types, shapes, strides,
// where memory is, what is given by name, and key lengths that the host knows. Compared at every call, so comparing
// writes and allocates nothing.
#pragma once

#include <string>
#include <vector>

#include <tessera/library/attention_options.h>

namespace tessera::library {

class CallKey {
 public:
  explicit CallKey(const AttentionCall& call);

  bool matches(const AttentionCall& call) const;

 private:
  std::vector<std::int64_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace tessera::library
