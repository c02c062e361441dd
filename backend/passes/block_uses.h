// Who defines and who reads a value within one block.
#pragma once

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

// The op of the block itself that defines the value; null if there is none.
inline const ir::Op* definition_in(const ir::Block& block, ir::Value v) {
  for (const ir::Op& op : block.ops)
    for (ir::Value result : op.results)
      if (result == v) return &op;
  return nullptr;
}

// Operands that are the value, in regions too.
inline int uses(const ir::Block& block, ir::Value v) {
  int count = 0;
  ir::walk(block, [&](const ir::Op& op) {
    for (ir::Value operand : op.operands) count += operand == v;
  });
  return count;
}

}  // namespace tessera::backend
