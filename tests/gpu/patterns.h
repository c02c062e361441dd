// Every library pattern for given lengths, beside what it means as plain C++.
#pragma once

#include <vector>

#include "library/attention_case.h"

namespace tessera::test {

struct PatternCase {
  const char* name;
  void (*apply)(Case&);  // sets mask, allowed, and what else the pattern is about (scores, key lengths)
};
const std::vector<PatternCase>& pattern_cases();

}  // namespace tessera::test
