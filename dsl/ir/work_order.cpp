#include <algorithm>

#include <tessera/dsl/ir/ir.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::ir {

std::vector<std::int64_t> program_at(const WorkOrder& order, std::int64_t number,
                                     const std::vector<std::int64_t>& counts) {
  std::int64_t others = 1;
  for (std::size_t i = 1; i < counts.size(); ++i) others *= counts[i];
  std::vector<std::int64_t> at;
  if (counts.empty()) return at;
  std::int64_t first = number % counts[0], rest = number / counts[0];
  if (order.section > 0) {
    const std::int64_t begin = number / (counts[0] * order.section) * order.section;
    const std::int64_t within = number - begin * counts[0],
                       turns = std::min<std::int64_t>(order.section, others - begin);
    first = within / turns;
    rest = begin + within % turns;
  }
  at.push_back(order.descending ? counts[0] - 1 - first : first);
  for (std::size_t i = 1; i < counts.size(); ++i) {
    at.push_back(i + 1 == counts.size() ? rest : rest % counts[i]);
    rest /= counts[i];
  }
  return at;
}

const Op* find_programs(const Kernel& kernel) {
  const Op* found = nullptr;
  walk(kernel.entry, [&](const Op& op) {
    if (op.code == OpCode::programs && !found) found = &op;
  });
  return found;
}

}  // namespace tessera::ir
