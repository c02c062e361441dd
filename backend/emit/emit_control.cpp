// Structured control flow, and the table from ops to the functions that emit them.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/phis.h>

namespace tessera::backend {

using ir::Op;
using ir::OpCode;
using llvm::Value;

namespace {

std::vector<ir::Value> from(const std::vector<ir::Value>& values, std::size_t first) {
  return {values.begin() + static_cast<std::ptrdiff_t>(first), values.end()};
}

}  // namespace

// Rotated: the condition is tested before the first trip and after each.
void emit_loop(Emitter& e, const Op& op) {
  auto& b = e.b;
  const ir::Block& region = op.regions.at(0);
  Value *lo = e.scalar(op.operands[0]), *hi = e.scalar(op.operands[1]);
  const Values init = flatten(e, from(op.operands, 2));
  llvm::BasicBlock *before = b.GetInsertBlock(), *body = e.block("loop"), *end = e.block("loop_end");
  b.CreateCondBr(b.CreateICmpSLT(lo, hi), body, end);
  b.SetInsertPoint(body);
  llvm::PHINode* i = b.CreatePHI(b.getInt32Ty(), 2);
  const Phis carried = make_phis(e, init);
  e.bind(region.args.at(0), {.regs = {i}, .position = true});
  bind_phis(e, from(region.args, 1), carried);
  const Values yielded = flatten(e, e.emit(region));
  Value* next = b.CreateNSWAdd(i, e.i32(1));
  llvm::BasicBlock* latch = b.GetInsertBlock();
  e.loop_back(b.CreateICmpSLT(next, hi), body, end);
  i->addIncoming(lo, before);
  i->addIncoming(next, latch);
  add_incoming(carried, init, before);
  add_incoming(carried, yielded, latch);
  b.SetInsertPoint(end);
  const Phis results = make_phis(e, init);
  add_incoming(results, init, before);
  add_incoming(results, yielded, latch);
  bind_phis(e, op.results, results);
}

void emit_when(Emitter& e, const Op& op) {
  auto& b = e.b;
  const ir::Block& region = op.regions.at(0);
  const std::vector<ir::Value> start = from(op.operands, 1);
  const Values init = flatten(e, start);
  llvm::BasicBlock *before = b.GetInsertBlock(), *body = e.block("when"), *end = e.block("when_end");
  b.CreateCondBr(e.scalar(op.operands[0]), body, end);
  b.SetInsertPoint(body);
  for (std::size_t i = 0; i < region.args.size(); ++i) e.bind(region.args[i], e[start.at(i)]);
  const Values yielded = flatten(e, e.emit(region));
  llvm::BasicBlock* last = b.GetInsertBlock();
  b.CreateBr(end);
  b.SetInsertPoint(end);
  const Phis results = make_phis(e, init);
  add_incoming(results, init, before);
  add_incoming(results, yielded, last);
  bind_phis(e, op.results, results);
}

void Emitter::emit(const Op& op) {
  if (ir::is_elementwise(op.code)) return emit_elementwise(*this, op);
  switch (op.code) {
    case OpCode::constant:
    case OpCode::iota:
    case OpCode::program_id:
    case OpCode::length:
    case OpCode::scalar:
    case OpCode::group_id: return emit_leaf(*this, op);
    case OpCode::tile_at: return emit_tile_at(*this, op);
    case OpCode::position:
    case OpCode::exists: return emit_places(*this, op);
    case OpCode::partial_sum: return emit_partial_sum(*this, op);
    case OpCode::broadcast: return emit_broadcast(*this, op);
    case OpCode::convert: return emit_convert(*this, op);
    case OpCode::reduce_max:
    case OpCode::reduce_min:
    case OpCode::reduce_sum:
    case OpCode::reduce_any:
    case OpCode::reduce_all: return emit_reduce(*this, op);
    case OpCode::load: return emit_load(*this, op);
    case OpCode::store: return emit_store(*this, op);
    case OpCode::gather: return emit_gather(*this, op);
    case OpCode::loop: return emit_loop(*this, op);
    case OpCode::when: return emit_when(*this, op);
    case OpCode::programs: return emit_programs(*this, op);
    case OpCode::alloc: return bind(op.results[0], {.ring = &plan.rings.at(op.results[0].id)});
    case OpCode::role: return emit_role(*this, op);
    case OpCode::slot: return emit_slot(*this, op);
    case OpCode::rows: return emit_rows(*this, op);
    case OpCode::copy: return emit_copy(*this, op);
    case OpCode::write: return emit_write(*this, op);
    case OpCode::send: return emit_send(*this, op);
    case OpCode::send_wait: return emit_send_wait(*this);
    case OpCode::expect:
    case OpCode::arrive:
    case OpCode::wait: return emit_barrier(*this, op);
    case OpCode::turn_wait:
    case OpCode::turn_pass: return emit_turn(*this, op);
    case OpCode::mma_fence: return void(intrinsic(llvm::Intrinsic::nvvm_wgmma_fence_sync_aligned, {}));
    case OpCode::mma_commit: return void(intrinsic(llvm::Intrinsic::nvvm_wgmma_commit_group_sync_aligned, {}));
    case OpCode::mma: return emit_mma(*this, op);
    case OpCode::mma_wait: return emit_mma_wait(*this, op);
    default: throw InternalError("op '" + std::string(ir::info(op.code).name) + "' is not legal in a placed kernel");
  }
}

}  // namespace tessera::backend
