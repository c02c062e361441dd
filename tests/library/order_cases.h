// Attention problems with plans in token orders: each sets lengths, mask and plan of a Case.
#pragma once

#include <string>
#include <vector>

#include "library/attention_case.h"

namespace tessera::test {

struct OrderCase {
  std::string name;
  std::function<void(Case&)> apply;
};
const std::vector<OrderCase>& order_cases();

}  // namespace tessera::test
