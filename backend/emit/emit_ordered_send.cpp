// Sends of tiles of token orders. A warp's 16 rows are one box of a tensor map where that holds nothing but tokens and
// what lies past the ends that the map knows. Elsewhere its lanes store them, 16 bytes at a time.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/global_tile.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/ordered_boxes.h>
#include <tessera/backend/emit/ordered_rows.h>
#include <tessera/backend/emit/send.h>
#include <tessera/backend/emit/slots.h>
#include <tessera/backend/warpgroup.h>

namespace tessera::backend {

using ir::Op;
using llvm::Value;
namespace id = llvm::Intrinsic;

namespace {

class OrderedSend {
 public:
  OrderedSend(Emitter& e, const Op& op)
      : e_(e),
        op_(op),
        view_(e[op.operands[0]]),
        tile_(e[op.operands.at(1)]),
        part_(rows_of_warp(*tile_.cut).value()),
        first_row_(e.b.CreateAdd(tile_.regs.back(), e.b.CreateMul(e.scope.warp, e.i32(kWarpRows)))) {
    rows_.cut = &part_;
    for (std::size_t i = 0; i < part_.order.digits.size(); ++i) {
      Value* place = e.b.CreateUDiv(first_row_, e.i32(tile_.cut->order.rows_between(i)));
      if (i > 0) place = e.b.CreateURem(place, e.i32(tile_.cut->order.digits[i].tile));
      rows_.regs.push_back(e.b.CreateAdd(tile_.regs[i], place));
    }
    rows_.regs.push_back(e.i32(0));
  }

  void emit() {
    auto& b = e_.b;
    OrderedBoxes boxes(e_, op_.index, rows_, nullptr);
    Value* whole = boxes.describable();
    const auto send = [&] {
      e_.intrinsic(id::nvvm_fence_proxy_async_shared_cta, {});
      e_.intrinsic(id::nvvm_bar_warp_sync, {e_.i32(-1)});
      e_.when(b.CreateICmpEQ(e_.lane, e_.i32(0)), "send",
              [&] { boxes.move_boxes([&](Value* map, Value*, const Values& at) { send_box(e_, op_, map, at); }); });
    };
    if (!whole) return send();
    llvm::BasicBlock *box = e_.block("box"), *part = e_.block("rows"), *end = e_.block("sent");
    b.CreateCondBr(whole, box, part);
    b.SetInsertPoint(box);
    send();
    b.CreateBr(end);
    b.SetInsertPoint(part);
    e_.intrinsic(id::nvvm_bar_warp_sync, {e_.i32(-1)});
    store();
    b.CreateBr(end);
    b.SetInsertPoint(end);
  }

 private:
  // Eight lanes a row and chunk, each with 8 columns. A row's unit u lies at u ^ (row mod 8).
  void store() {
    constexpr int kLanesOfRow = 8, kUnit = 16;
    auto& b = e_.b;
    const ir::Param& param = e_.kernel.params[op_.index];
    const int row_dim = dim_of_listed(e_.kernel, param, 0);
    Value *unit = b.CreateAnd(e_.lane, e_.i32(kLanesOfRow - 1)), *first = b.CreateLShr(e_.lane, e_.i32(3));
    Value* base = b.CreateGEP(b.getInt16Ty(), e_.slot({.kind = SlotKind::pointer, .param = op_.index}),
                              program_offset(e_, op_.index));
    for (int group = 0; group < kWarpRows; group += 32 / kLanesOfRow) {
      Value* row = b.CreateAdd(first, e_.i32(group));
      // Of the whole tile: what its digits pass, a part's may have no need to ask about.
      OrderedRows places(e_, tile_, nullptr, b.CreateAdd(first_row_, row));
      Value* token = b.CreateSExt(places.token(0).base, b.getInt64Ty());
      Value* to = b.CreateGEP(b.getInt16Ty(), base, b.CreateMul(token, e_.stride(op_.index, row_dim)));
      Value* exists = places.exists(0, e_.length(part_.axis));
      Value* place = b.CreateMul(b.CreateXor(unit, b.CreateAnd(row, e_.i32(kLanesOfRow - 1))), e_.i32(kUnit));
      Value* from =
          b.CreateAdd(first_row_of_warp(e_, view_.offset), b.CreateAdd(b.CreateMul(row, e_.i32(kRowBytes)), place));
      for (int chunk = 0; chunk < view_.ring->chunks; ++chunk) {
        Value* column = b.CreateAdd(b.CreateMul(unit, e_.i32(8)),
                                    b.CreateAdd(e_.scalar(op_.operands.at(2)), e_.i32(kChunkColumns * chunk)));
        Value* inside = b.CreateAnd(exists, b.CreateICmpSLT(column, e_.length(param.axes[1])));
        e_.when(inside, "unit", [&] {
          llvm::Type* words = llvm::FixedVectorType::get(b.getInt32Ty(), 4);
          Value* shared = e_.shared(b.CreateAdd(from, e_.i32(chunk * view_.ring->chunk_bytes())));
          Value* moved = b.CreateAlignedLoad(words, shared, llvm::Align(kUnit));
          b.CreateAlignedStore(moved, b.CreateGEP(b.getInt16Ty(), to, b.CreateZExt(column, b.getInt64Ty())),
                               llvm::Align(kUnit));
        });
      }
    }
  }

  Emitter& e_;
  const Op& op_;
  const Bound view_;
  const Bound tile_;
  const ir::AxisOrder part_;
  Value* first_row_;
  Bound rows_;  // the warp's, as a tile of `part_`
};

}  // namespace

void emit_ordered_send(Emitter& e, const Op& op) { OrderedSend(e, op).emit(); }

}  // namespace tessera::backend
