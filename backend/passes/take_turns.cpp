#include <tessera/backend/passes/take_turns.h>

#include <algorithm>

namespace tessera::backend {

using namespace ir;

namespace {

Op turn(OpCode code, SourceLoc loc) {
  Op op;
  op.code = code;
  op.loc = loc;
  return op;
}

void block(Block& body, bool in_loop) {
  for (Op& op : body.ops)
    for (Block& region : op.regions) block(region, op.code == OpCode::loop);
  if (!in_loop) return;
  const auto is = [](OpCode code) { return [code](const Op& op) { return op.code == code; }; };
  const auto fence = std::find_if(body.ops.begin(), body.ops.end(), is(OpCode::mma_fence));
  const auto wait = std::find_if(fence, body.ops.end(), is(OpCode::mma_wait));
  if (wait == body.ops.end() || std::any_of(wait, body.ops.end(), is(OpCode::mma))) return;
  const auto commit = std::find_if(std::make_reverse_iterator(wait), body.ops.rend(), is(OpCode::mma_commit)).base();
  const std::ptrdiff_t begin = fence - body.ops.begin(), end = commit - body.ops.begin();
  const SourceLoc loc = fence->loc;
  body.ops.insert(body.ops.begin() + end, turn(OpCode::turn_pass, loc));
  body.ops.insert(body.ops.begin() + begin, turn(OpCode::turn_wait, loc));
}

}  // namespace

Kernel take_turns(const Kernel& kernel) {
  Kernel out = kernel;
  for (Op& op : out.entry.ops)
    if (op.code == OpCode::role && out.roles.at(static_cast<std::size_t>(op.index)).warpgroups > 1)
      block(op.regions[0], false);
  return out;
}

}  // namespace tessera::backend
