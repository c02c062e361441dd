// Copies of tiles of token orders: one box a chunk of columns for the whole tile, or one a row where the box would read
// what is no token (ordered_map.h).
#include <algorithm>

#include <tessera/backend/emit/copy.h>
#include <tessera/backend/emit/global_tile.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/ordered_rows.h>
#include <tessera/backend/emit/slots.h>
#include <tessera/backend/ordered_map.h>

namespace tessera::backend {

using ir::Op;
using llvm::Value;

namespace {

class OrderedCopy {
 public:
  OrderedCopy(Emitter& e, const Op& op)
      : e_(e),
        op_(op),
        param_(e.kernel.params[op.index]),
        tile_(e[op.operands[3]]),
        cut_(*tile_.cut),
        order_(cut_.order),
        view_(e[op.operands[0]]),
        barrier_(copy_barrier(e, op)),
        column_(e.scalar(op.operands[4])) {
    const int unlisted = static_cast<int>(implicit_axes(e.kernel, param_).size());
    for (int i = 0; i < unlisted; ++i) unlisted_.push_back(program_coordinate(e, op.index, i));
    map_ = ordered_map(order_, unlisted_.size());
    if (op.axis) bound_ = e.scalar(op.operands.back());
  }

  void emit() {
    auto& b = e_.b;
    Value* whole = describable();
    if (!whole) return boxes();
    llvm::BasicBlock *box = e_.block("box"), *part = e_.block("rows"), *end = e_.block("copied");
    b.CreateCondBr(whole, box, part);
    b.SetInsertPoint(box);
    boxes();
    b.CreateBr(end);
    b.SetInsertPoint(part);
    rows();
    b.CreateBr(end);
    b.SetInsertPoint(end);
  }

 private:
  Value* i32(std::int64_t n) { return e_.i32(static_cast<int>(n)); }
  Value* first(std::size_t digit) const { return tile_.regs[digit]; }
  Value* length() { return e_.length(cut_.axis); }

  // The last token that digits from `digit` on reach in the tile, counted by them.
  Value* last_of(std::size_t digit) {
    auto& b = e_.b;
    Value* last = e_.i32(0);
    for (std::size_t i = digit; i < order_.digits.size(); ++i) {
      const ir::OrderDigit& d = order_.digits[i];
      Value* value = b.CreateAdd(first(i), i32(d.tile - 1));
      if (i > 0 && order_.is_clipped(i))
        value = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, i32(order_.values(i, 0) - 1));
      last = b.CreateAdd(last, b.CreateMul(value, i32(d.weight)));
    }
    return last;
  }

  // The tile holds no part of an incomplete value of digit i, or all of it that there is.
  Value* holds_no_part(std::size_t i) {
    auto& b = e_.b;
    const ir::OrderDigit& d = order_.digits[i];
    Value *complete, *rest;
    if (i == 0) {
      complete = b.CreateUDiv(length(), i32(d.weight));
      rest = b.CreateURem(length(), i32(d.weight));
    } else {
      complete = i32(order_.digits[i - 1].weight / d.weight);
      rest = i32(order_.digits[i - 1].weight % d.weight);
    }
    Value* before = b.CreateICmpSLE(b.CreateAdd(first(i), i32(d.tile)), complete);
    Value* all = b.CreateICmpSLT(last_of(i + 1), rest);
    Value* none = b.CreateICmpEQ(rest, e_.i32(0));
    return b.CreateOr(b.CreateOr(before, all), none);
  }

  // Whether the map describes the tile; null: always.
  Value* describable() {
    auto& b = e_.b;
    Value* all = nullptr;
    const auto also = [&](Value* condition) { all = all ? b.CreateAnd(all, condition) : condition; };
    for (std::size_t i = 0; i < order_.digits.size(); ++i)
      if (splits_value(order_, i)) also(holds_no_part(i));
    if (bound_) {
      Value* last = b.CreateSub(length(), e_.i32(1));
      last = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, last_of(0));
      also(b.CreateICmpSLT(last, bound_));
    }
    return all;
  }

  void boxes() {
    if (!has_two_maps(order_)) return boxes(false);
    // The incomplete value of the first digit has tokens for the first rest * weight values of what follows.
    auto& b = e_.b;
    Value* within = e_.i32(0);
    for (std::size_t i = 1; i < order_.digits.size(); ++i)
      within = b.CreateAdd(within, b.CreateMul(first(i), i32(order_.digits[i].weight)));
    Value* has_last = b.CreateICmpULT(within, b.CreateURem(length(), i32(order_.digits[0].weight)));
    llvm::BasicBlock *with = e_.block("with_last"), *without = e_.block("without_last"), *end = e_.block("boxed");
    b.CreateCondBr(has_last, with, without);
    for (auto [block, complete] : {std::pair{with, false}, {without, true}}) {
      b.SetInsertPoint(block);
      boxes(complete);
      b.CreateBr(end);
    }
    b.SetInsertPoint(end);
  }

  void boxes(bool complete) {
    Values at;
    for (std::size_t i : map_.boxes) at.push_back(first(i));
    Values single;
    for (std::size_t i : map_.others) single.push_back(first(i));
    single.insert(single.end(), unlisted_.begin(), unlisted_.end());
    if (map_.offsets) {
      Value* offset = e_.i32(0);
      for (std::size_t i = 0; i < single.size(); ++i) {
        Value* multiple = e_.slot(multiple_slot(cut_, op_.index, static_cast<int>(i)));
        offset = e_.b.CreateAdd(offset, e_.b.CreateMul(single[i], multiple));
      }
      single = {offset};
    }
    at.insert(at.end(), single.begin(), single.end());
    chunks(e_.slot(ordered_map_slot(cut_, op_.index, complete)), e_.i32(0), at);
  }

  // Row by row. Those that are no token come from before the tensor's first one: as zeros, and with their bytes.
  void rows() {
    auto& b = e_.b;
    llvm::BasicBlock *before = b.GetInsertBlock(), *body = e_.block("row"), *end = e_.block("rows_end");
    b.CreateBr(body);
    b.SetInsertPoint(body);
    llvm::PHINode* row = b.CreatePHI(b.getInt32Ty(), 2);
    OrderedRows places(e_, tile_, nullptr, row);
    Value* limit = bound_ ? b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, length(), bound_) : length();
    Value* token = places.token(0).base;
    Values at{b.CreateSelect(places.exists(0, limit), token, e_.i32(-1))};
    at.insert(at.end(), unlisted_.begin(), unlisted_.end());
    chunks(e_.slot(row_map_slot(op_.index)), row, at);
    Value* next = b.CreateAdd(row, e_.i32(1));
    row->addIncoming(e_.i32(0), before);
    row->addIncoming(next, b.GetInsertBlock());
    e_.loop_back(b.CreateICmpULT(next, e_.i32(order_.tile())), body, end);
    b.SetInsertPoint(end);
  }

  // One box for each 64 columns, to rows `row` on of the tile.
  void chunks(Value* map, Value* row, const Values& at) {
    for (int chunk = 0; chunk < view_.ring->chunks; ++chunk) {
      Value* offset = e_.b.CreateAdd(e_.b.CreateMul(row, e_.i32(128)), e_.i32(chunk * view_.ring->chunk_bytes()));
      Values coordinates{e_.b.CreateAdd(column_, e_.i32(64 * chunk))};
      coordinates.insert(coordinates.end(), at.begin(), at.end());
      copy_box(e_, e_.shared(e_.b.CreateAdd(view_.offset, offset)), barrier_, map, coordinates);
    }
  }

  Emitter& e_;
  const Op& op_;
  const ir::Param& param_;
  const Bound tile_;
  const ir::AxisOrder& cut_;
  const ir::Order& order_;
  const Bound view_;
  Value* barrier_;
  Value* column_;
  Value* bound_ = nullptr;
  Values unlisted_;
  OrderedMap map_;
};

}  // namespace

void emit_ordered_copy(Emitter& e, const Op& op) { OrderedCopy(e, op).emit(); }

}  // namespace tessera::backend
