// Which keys generalized neighborhood attention lets a query see on one axis, by its definition.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera::test {

struct AxisRule {
  std::int64_t length, window, stride = 1, dilation = 1;
  bool causal = false;

  bool sees(std::int64_t i, std::int64_t j) const {
    const std::int64_t g = i % dilation, p = i / dilation, n = (length - g + dilation - 1) / dilation;
    if (j % dilation != g) return false;
    const std::int64_t key = j / dilation, base = p / stride * stride;
    if (causal) {
      const std::int64_t leader = std::min(base + stride - 1, n - 1);
      return std::max<std::int64_t>(leader - (window - 1), 0) <= key && key <= p;
    }
    const std::int64_t left = window / 2, right = window - 1 - left;
    const std::int64_t leader = std::min(base + stride / 2, n - 1);
    const std::int64_t middle = std::min(std::max(leader, left), n - 1 - right);
    return middle - left <= key && key <= middle + right;
  }
};

}  // namespace tessera::test
