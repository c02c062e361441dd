// From registers through shared memory to global memory: the way out for tiles that products computed.
//
// A product leaves each thread two neighbouring columns of a row, far too few for a store of its own. stmatrix gathers
// them into rows of shared memory, and a tensor copy writes those in units of 128 bytes, clipped at the tensor's ends,
// while the warp goes on. A warp's 16 rows are its own from the registers to the copy: no warp waits for another.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/global_tile.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/send.h>
#include <tessera/backend/emit/slots.h>
#include <tessera/backend/warpgroup.h>

namespace tessera::backend {

using ir::Op;
using ir::Type;
using llvm::Value;
namespace id = llvm::Intrinsic;

namespace {

constexpr int kUnitBytes = 16;  // that the swizzle moves: 8 columns

unsigned instruction(std::size_t axes_but_columns) {
  switch (axes_but_columns) {
    case 1: return id::nvvm_cp_async_bulk_tensor_s2g_tile_2d;
    case 2: return id::nvvm_cp_async_bulk_tensor_s2g_tile_3d;
    case 3: return id::nvvm_cp_async_bulk_tensor_s2g_tile_4d;
    case 4: return id::nvvm_cp_async_bulk_tensor_s2g_tile_5d;
    default: throw InternalError("a tensor copy has at most 5 axes");
  }
}

}  // namespace

Value* first_row_of_warp(Emitter& e, Value* view) {
  return e.b.CreateAdd(view, e.b.CreateMul(e.scope.warp, e.i32(kWarpRows * kRowBytes)));
}

// An stmatrix of four 8 x 8 blocks: two of rows by two of columns. Lanes 8i..8i+7 say where the rows of block i go; a
// row's unit u lies at u ^ (row mod 8).
void emit_write(Emitter& e, const Op& op) {
  const Type& tile = e.type(op.operands[1]);
  if (!packed(tile) || !tile.layout ||
      !same_places(tile, *tile.layout, product_layout(tile.dims[0].axis, tile.dims[1].axis, tile.dims[1].extent)))
    throw InternalError("write of " + to_string(tile) + ", which is not laid out as products are");
  auto& b = e.b;
  const Bound view = e[op.operands[0]];
  const Values& regs = e[op.operands[1]].regs;
  Value* in_block = b.CreateAnd(e.lane, 7);
  Value* row = b.CreateAdd(in_block, b.CreateAnd(e.lane, 8));
  Value* first = b.CreateAdd(first_row_of_warp(e, view.offset), b.CreateMul(row, e.i32(kRowBytes)));
  Value* unit = b.CreateShl(b.CreateXor(in_block, b.CreateLShr(e.lane, 4)), 4);
  const int units_a_chunk = kRowBytes / kUnitBytes;
  for (int at = 0; at + 4 <= static_cast<int>(regs.size()); at += 4) {
    const int column = at / 2;  // unit: two registers a thread
    Value* swizzled = b.CreateXor(unit, e.i32(column % units_a_chunk * kUnitBytes));
    Value* offset = b.CreateAdd(swizzled, e.i32(column / units_a_chunk * view.ring->chunk_bytes()));
    Value* pointer = e.shared(b.CreateAdd(first, offset));
    e.intrinsic(id::nvvm_stmatrix_sync_aligned_m8n8_x4_b16,
                {pointer, regs[at], regs[at + 1], regs[at + 2], regs[at + 3]}, {pointer->getType()});
  }
}

void send_box(Emitter& e, const Op& op, Value* map, const Values& at) {
  auto& b = e.b;
  const Bound view = e[op.operands[0]];
  Value *source = first_row_of_warp(e, view.offset), *column = e.scalar(op.operands.at(2));
  for (int chunk = 0; chunk < view.ring->chunks; ++chunk) {
    Values arguments = {e.shared(b.CreateAdd(source, e.i32(chunk * view.ring->chunk_bytes()))), map,
                        b.CreateAdd(column, e.i32(kChunkColumns * chunk))};
    arguments.insert(arguments.end(), at.begin(), at.end());
    arguments.push_back(b.getInt64(0));
    arguments.push_back(b.getFalse());
    e.intrinsic(instruction(at.size()), arguments);
  }
  e.intrinsic(id::nvvm_cp_async_bulk_commit_group, {});
}

void emit_send(Emitter& e, const Op& op) {
  e.finish_program(op);
  if (e[op.operands.at(1)].cut) return emit_ordered_send(e, op);
  auto& b = e.b;
  Values at{b.CreateAdd(e.scalar(op.operands.at(1)), b.CreateMul(e.scope.warp, e.i32(kWarpRows)))};
  const Values outer = program_coordinates(e, op.index);
  at.insert(at.end(), outer.begin(), outer.end());
  Value* map = e.slot({.kind = SlotKind::tensor_map, .param = op.index, .columns = kChunkColumns, .rows = kWarpRows});
  e.intrinsic(id::nvvm_fence_proxy_async_shared_cta, {});
  e.intrinsic(id::nvvm_bar_warp_sync, {e.i32(-1)});
  e.when(b.CreateICmpEQ(e.lane, e.i32(0)), "send", [&] { send_box(e, op, map, at); });
}

// The copies were issued by one lane, which alone can wait for them.
void emit_send_wait(Emitter& e) {
  e.when(e.b.CreateICmpEQ(e.lane, e.i32(0)), "sent",
         [&] { e.intrinsic(id::nvvm_cp_async_bulk_wait_group_read, {e.i32(0)}); });
  e.intrinsic(id::nvvm_bar_warp_sync, {e.i32(-1)});
}

}  // namespace tessera::backend
