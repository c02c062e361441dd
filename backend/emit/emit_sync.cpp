// Warpgroup roles, shared-memory rings, mbarriers and tensor copies.
//
// Ticket n of a ring of S stages uses slot n mod S for the (n div S)-th time. An mbarrier's phase bit is the parity of
// that count, so neither side keeps a phase of its own.
#include <algorithm>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/copy.h>
#include <tessera/backend/emit/global_tile.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/ptx_asm.h>
#include <tessera/backend/emit/slots.h>
#include <tessera/backend/warpgroup.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using ir::Op;
using ir::OpCode;
using ir::Type;
using llvm::Value;
namespace id = llvm::Intrinsic;

namespace {

// Tickets are never negative; LLVM makes shifts and masks of powers of two.
Value* stage(Emitter& e, const Ring& ring, Value* ticket) {
  return ring.stages == 1 ? e.i32(0) : e.b.CreateURem(ticket, e.i32(ring.stages));
}

Value* use_of_slot(Emitter& e, const Ring& ring, Value* ticket) {
  return ring.stages == 1 ? ticket : e.b.CreateUDiv(ticket, e.i32(ring.stages));
}

Value* stage_offset(Emitter& e, const Ring& ring, Value* ticket) {
  return e.b.CreateAdd(e.b.CreateMul(stage(e, ring, ticket), e.i32(ring.stage_bytes)), e.i32(ring.offset));
}

// All roles together may hold what the block started with: the last to ask would wait for ever.
void check_registers(const Emitter& e) {
  const int have = entry_registers(e.target, e.kernel.threads);
  int held = 0;
  for (const ir::Role& role : e.kernel.roles)
    held += kGroupThreads * role.warpgroups * (role.registers ? role.registers : have);
  if (held > e.kernel.threads * have)
    throw InternalError("the roles of kernel '" + e.kernel.name + "' hold " + std::to_string(held) +
                        " registers, but its " + std::to_string(e.kernel.threads) + " threads start with " +
                        std::to_string(e.kernel.threads * have));
}

void set_registers(Emitter& e, int wanted) {
  const int have = entry_registers(e.target, e.kernel.threads);
  if (wanted == 0 || wanted == have) return;
  e.intrinsic(wanted < have ? id::nvvm_setmaxnreg_dec_sync_aligned_u32 : id::nvvm_setmaxnreg_inc_sync_aligned_u32,
              {e.i32(wanted)});
}

// Named barriers of turns follow those of the scratch areas: one a warpgroup, on which it meets the one before it.
Value* turn_barrier(Emitter& e, const ir::Role& role, int first_area, Value* group) {
  int areas = 0;
  for (std::size_t i = 0; i < e.plan.first_area.size(); ++i)
    if (e.plan.first_area[i] >= 0) areas = std::max(areas, e.plan.first_area[i] + e.kernel.roles[i].warpgroups);
  if (1 + 2 * areas > kNamedBarriers)
    throw InternalError("role '" + role.name + "' takes turns, for which a block has too few named barriers");
  return e.b.CreateAdd(group, e.i32(1 + areas + first_area));
}

bool takes_turns(const Op& role) {
  bool found = false;
  ir::walk(role.regions.at(0), [&](const Op& op) { found = found || op.code == OpCode::turn_wait; });
  return found;
}

// One thread of a producer's first warp runs its region, the others leave. Nothing in it may need them.
void elect_producer(Emitter& e, const Op& role) {
  ir::walk(role.regions.at(0), [&](const Op& op) {
    bool tiles = ir::info(op.code).kind == ir::OpKind::reduce || op.code == OpCode::mma || op.code == OpCode::store;
    for (ir::Value v : op.results) tiles = tiles || (e.type(v).kind == ir::TypeKind::tile && !e.type(v).is_scalar());
    if (tiles) throw InternalError("op '" + std::string(ir::info(op.code).name) + "' in a role that one thread runs");
  });
  llvm::BasicBlock *first = e.block("first_warp"), *elected = e.block("elected");
  Value* warp_in_group = e.b.CreateAnd(e.warp, 3);
  e.b.CreateCondBr(e.b.CreateICmpEQ(warp_in_group, e.i32(0)), first, e.done);
  e.b.SetInsertPoint(first);
  Value* one = e.b.CreateExtractValue(e.intrinsic(id::nvvm_elect_sync, {e.i32(-1)}), 1);
  e.b.CreateCondBr(one, elected, e.done);
  e.b.SetInsertPoint(elected);
}

}  // namespace

void emit_role(Emitter& e, const Op& op) {
  const auto& roles = e.kernel.roles;
  int first = 0;
  for (int i = 0; i < op.index; ++i) first += roles[i].warpgroups;
  const ir::Role& role = roles.at(static_cast<std::size_t>(op.index));
  llvm::BasicBlock *body = e.block(role.name.empty() ? "role" : role.name.c_str()), *next = e.block("next_role");
  Value* warpgroup = e.b.CreateLShr(e.warp, 2);
  Value* group = e.b.CreateSub(warpgroup, e.i32(first));
  e.b.CreateCondBr(e.b.CreateICmpULT(group, e.i32(role.warpgroups)), body, next);
  e.b.SetInsertPoint(body);
  const Scope outer = e.scope;
  check_registers(e);
  set_registers(e, role.registers);
  const int first_area = e.plan.first_area.at(static_cast<std::size_t>(op.index));
  const bool producer = first_area < 0;
  if (producer) elect_producer(e, op);
  Value* leader = producer ? e.b.getTrue() : e.b.CreateICmpEQ(e.b.CreateAnd(e.thread, kGroupThreads - 1), e.i32(0));
  e.scope = {.warps = 4,
             .warp = e.b.CreateAnd(e.warp, 3),
             .group = group,
             .area = producer ? nullptr : e.b.CreateAdd(group, e.i32(first_area)),
             .leader = leader,
             .one_thread = producer};
  if (takes_turns(op)) {
    e.scope.turn = turn_barrier(e, role, first_area, group);
    Value* after = e.b.CreateAdd(e.scope.turn, e.i32(1));
    Value* is_last = e.b.CreateICmpEQ(group, e.i32(role.warpgroups - 1));
    e.scope.next_turn = e.b.CreateSelect(is_last, turn_barrier(e, role, first_area, e.i32(0)), after);
    e.when(is_last, "first_turn", [&] {  // as if a turn of the last group had just ended
      e.intrinsic(id::nvvm_barrier_cta_arrive_aligned_count, {e.scope.next_turn, e.i32(2 * kGroupThreads)});
    });
  }
  e.emit(op.regions[0]);
  e.b.CreateBr(e.done);
  e.scope = outer;
  e.b.SetInsertPoint(next);
}

void emit_turn(Emitter& e, const Op& op) {
  const bool waits = op.code == OpCode::turn_wait;
  e.intrinsic(waits ? id::nvvm_barrier_cta_sync_aligned_count : id::nvvm_barrier_cta_arrive_aligned_count,
              {waits ? e.scope.turn : e.scope.next_turn, e.i32(2 * kGroupThreads)});
}

void emit_slot(Emitter& e, const Op& op) {
  const Ring* ring = e[op.operands[0]].ring;
  e.bind(op.results[0], {.ring = ring, .offset = stage_offset(e, *ring, e.scalar(op.operands[1]))});
}

// Starts are multiples of 8 rows (a swizzle atom), or of 64 columns (a chunk).
void emit_rows(Emitter& e, const Op& op) {
  const Type& from = e.type(op.operands[0]);
  const Bound view = e[op.operands[0]];
  Value* start = e.scalar(op.operands[1]);
  const bool along_rows = from.dims.at(0).axis == op.axis;
  Value* bytes = along_rows
                     ? e.b.CreateMul(start, e.i32(kRowBytes))
                     : e.b.CreateMul(e.b.CreateUDiv(start, e.i32(kChunkColumns)), e.i32(view.ring->chunk_bytes()));
  e.bind(op.results[0], {.ring = view.ring, .offset = e.b.CreateAdd(view.offset, bytes)});
}

Value* copy_barrier(Emitter& e, const Op& copy) {
  return e.shared(stage_offset(e, *e[copy.operands[1]].ring, e.scalar(copy.operands[2])));
}

void copy_box(Emitter& e, Value* to, Value* barrier, Value* map, const Values& coordinates) {
  static constexpr unsigned kInstructions[] = {
      id::nvvm_cp_async_bulk_tensor_g2s_cta_tile_2d, id::nvvm_cp_async_bulk_tensor_g2s_cta_tile_3d,
      id::nvvm_cp_async_bulk_tensor_g2s_cta_tile_4d, id::nvvm_cp_async_bulk_tensor_g2s_cta_tile_5d};
  if (coordinates.size() < 2 || coordinates.size() > 1 + std::size(kInstructions))
    throw InternalError("a tensor copy has 2 to 5 axes, not " + std::to_string(coordinates.size()));
  Values arguments{to, barrier, map};
  arguments.insert(arguments.end(), coordinates.begin(), coordinates.end());
  arguments.push_back(e.b.getInt64(0));
  arguments.push_back(e.b.getFalse());
  e.intrinsic(kInstructions[coordinates.size() - 2], arguments);
}

namespace {

// What the boxes of one copy have in common.
class Copy {
 public:
  Copy(Emitter& e, const Op& op) : e_(e), op_(op), param_(e.kernel.params[op.index]), view_(e[op.operands[0]]) {
    barrier_ = copy_barrier(e, op);
    for (std::size_t i = 0; i < param_.axes.size(); ++i) starts_.push_back(e.scalar(op.operands[3 + i]));
    if (starts_.size() != 2) throw InternalError("copy of parameter " + param_.name + ", which does not list two axes");
    outer_ = program_coordinates(e, op.index);
    rows_ = e.type(op.operands[0]).dims.at(0).extent;
  }

  // All rows, in boxes as tall as the hardware takes.
  void whole() {
    const int box = box_rows(rows_);
    for (int row = 0; row < rows_; row += box) boxes(box, e_.i32(row), e_.b.CreateAdd(starts_[0], e_.i32(row)));
  }

  // Row by row. Those at or past `bound` come from before the tensor's first row: as zeros, and with their bytes.
  void row_by_row(Value* bound) {
    auto& b = e_.b;
    llvm::BasicBlock *before = b.GetInsertBlock(), *body = e_.block("row"), *end = e_.block("rows_end");
    b.CreateBr(body);
    b.SetInsertPoint(body);
    llvm::PHINode* row = b.CreatePHI(b.getInt32Ty(), 2);
    Value* from = b.CreateAdd(starts_[0], row);
    boxes(1, row, b.CreateSelect(b.CreateICmpSLT(from, bound), from, e_.i32(-1)));
    Value* next = b.CreateAdd(row, e_.i32(1));
    row->addIncoming(e_.i32(0), before);
    row->addIncoming(next, b.GetInsertBlock());
    e_.loop_back(b.CreateICmpULT(next, e_.i32(rows_)), body, end);
    b.SetInsertPoint(end);
  }

  Value* inside(Value* bound) { return e_.b.CreateICmpSLE(e_.b.CreateAdd(starts_[0], e_.i32(rows_)), bound); }

 private:
  // One box a chunk: `rows` rows of the tensor from `from` on, to rows `row` on of the tile.
  void boxes(int rows, Value* row, Value* from) {
    Value* map = e_.slot({.kind = SlotKind::tensor_map, .param = op_.index, .columns = 64, .rows = rows});
    for (int chunk = 0; chunk < view_.ring->chunks; ++chunk) {
      Value* offset = e_.b.CreateAdd(e_.b.CreateMul(row, e_.i32(128)), e_.i32(chunk * view_.ring->chunk_bytes()));
      Values coordinates{e_.b.CreateAdd(starts_[1], e_.i32(64 * chunk)), from};
      coordinates.insert(coordinates.end(), outer_.begin(), outer_.end());
      copy_box(e_, e_.shared(e_.b.CreateAdd(view_.offset, offset)), barrier_, map, coordinates);
    }
  }

  Emitter& e_;
  const Op& op_;
  const ir::Param& param_;
  const Bound view_;
  Value* barrier_ = nullptr;
  Values starts_, outer_;
  int rows_ = 0;
};

}  // namespace

void emit_copy(Emitter& e, const Op& op) {
  if (e[op.operands[3]].cut) return emit_ordered_copy(e, op);
  Copy copy(e, op);
  if (!op.axis) return copy.whole();
  Value* bound = e.scalar(op.operands.back());
  llvm::BasicBlock *whole = e.block("whole"), *part = e.block("part"), *end = e.block("copied");
  e.b.CreateCondBr(copy.inside(bound), whole, part);
  e.b.SetInsertPoint(whole);
  copy.whole();
  e.b.CreateBr(end);
  e.b.SetInsertPoint(part);
  copy.row_by_row(bound);
  e.b.CreateBr(end);
  e.b.SetInsertPoint(end);
}

void emit_barrier(Emitter& e, const Op& op) {
  const Ring& ring = *e[op.operands[0]].ring;
  Value* ticket = e.scalar(op.operands[1]);
  Value* offset = stage_offset(e, ring, ticket);
  switch (op.code) {
    case OpCode::expect: {
      const auto announce = [&] {
        e.intrinsic(id::nvvm_mbarrier_arrive_expect_tx_scope_cta_space_cta,
                    {e.shared(offset), e.i32(static_cast<int>(op.number))});
      };
      return e.scope.one_thread ? announce() : e.when(e.scope.leader, "expect", announce);
    }
    case OpCode::arrive: return barrier_arrive_if(e.b, e.shared_address(offset), e.scope.leader);
    case OpCode::wait: {
      Value* use = use_of_slot(e, ring, ticket);
      if (op.index == 1) use = e.b.CreateAdd(use, e.i32(1));  // the use before has the other parity
      return barrier_wait(e.b, e.shared_address(offset), e.b.CreateAnd(use, 1));
    }
    default: throw InternalError("not a barrier op: " + std::string(ir::info(op.code).name));
  }
}

}  // namespace tessera::backend
