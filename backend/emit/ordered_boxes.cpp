#include <tessera/backend/emit/ordered_boxes.h>

#include <tessera/backend/emit/global_tile.h>
#include <tessera/backend/emit/ordered_rows.h>
#include <tessera/backend/emit/slots.h>

namespace tessera::backend {

using llvm::Value;

OrderedBoxes::OrderedBoxes(Emitter& e, int param, const Bound& tile, Value* bound)
    : e_(e), param_(param), tile_(tile), cut_(*tile.cut), order_(cut_.order), bound_(bound) {
  unlisted_ = program_coordinates(e, param);
  map_ = ordered_map(order_, unlisted_.size());
}

void OrderedBoxes::emit(const Move& move) {
  auto& b = e_.b;
  Value* whole = describable();
  if (!whole) return move_boxes(move);
  llvm::BasicBlock *box = e_.block("box"), *part = e_.block("rows"), *end = e_.block("moved");
  b.CreateCondBr(whole, box, part);
  b.SetInsertPoint(box);
  move_boxes(move);
  b.CreateBr(end);
  b.SetInsertPoint(part);
  rows(move);
  b.CreateBr(end);
  b.SetInsertPoint(end);
}

// The last token that digits from `digit` on reach in the tile, counted by them.
Value* OrderedBoxes::last_of(std::size_t digit) {
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
Value* OrderedBoxes::holds_no_part(std::size_t i) {
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

Value* OrderedBoxes::describable() {
  auto& b = e_.b;
  Value* all = nullptr;
  const auto also = [&](Value* condition) { all = all ? b.CreateAnd(all, condition) : condition; };
  for (std::size_t i = 0; i < order_.digits.size(); ++i)
    if (splits_value(order_, i)) also(holds_no_part(i));
  if (e_.kernel.params[param_].kind == ir::ParamKind::output) writable(also);
  if (bound_) {
    Value* last = b.CreateSub(length(), e_.i32(1));
    last = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, last, last_of(0));
    also(b.CreateICmpSLT(last, bound_));
  }
  return all;
}

// Reading may go wrong where it is not looked at, writing may not. A box from before the first element on is an illegal
// instruction, a map without an element is one of the zeros that reads give, and along the axis of offsets nothing
// ends.
void OrderedBoxes::writable(const std::function<void(Value*)>& also) {
  auto& b = e_.b;
  const ir::OrderDigit& outermost = order_.digits[0];
  for (std::size_t i = 0; i < order_.digits.size(); ++i)
    if (order_.digits[i].origin != 0) also(b.CreateICmpSGE(first(i), e_.i32(0)));
  if (has_two_maps(order_)) also(b.CreateICmpSGE(length(), i32(outermost.weight)));
  for (std::size_t i : map_.others) {
    if (!map_.offsets) continue;
    Value* values = i == 0 ? b.CreateUDiv(b.CreateAdd(length(), i32(outermost.weight - 1)), i32(outermost.weight))
                           : i32(order_.values(i, 0));
    also(b.CreateICmpSLT(first(i), values));
  }
}

void OrderedBoxes::move_boxes(const Move& move) {
  if (!has_two_maps(order_)) return box(false, move);
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
    box(complete, move);
    b.CreateBr(end);
  }
  b.SetInsertPoint(end);
}

void OrderedBoxes::box(bool complete, const Move& move) {
  Values at;
  for (std::size_t i : map_.boxes) at.push_back(first(i));
  Values single;
  for (std::size_t i : map_.others) single.push_back(first(i));
  single.insert(single.end(), unlisted_.begin(), unlisted_.end());
  if (map_.offsets) {
    Value* offset = e_.i32(0);
    for (std::size_t i = 0; i < single.size(); ++i) {
      Value* multiple = e_.slot(multiple_slot(cut_, param_, static_cast<int>(i)));
      offset = e_.b.CreateAdd(offset, e_.b.CreateMul(single[i], multiple));
    }
    single = {offset};
  }
  at.insert(at.end(), single.begin(), single.end());
  move(e_.slot(ordered_map_slot(cut_, param_, complete)), e_.i32(0), at);
}

// Row by row. Those that are no token come from before the tensor's first one: they arrive as zeros,
// with their bytes.
void OrderedBoxes::rows(const Move& move) {
  auto& b = e_.b;
  llvm::BasicBlock *before = b.GetInsertBlock(), *body = e_.block("row"), *end = e_.block("rows_end");
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode* row = b.CreatePHI(b.getInt32Ty(), 2);
  OrderedRows places(e_, tile_, nullptr, row);
  Value* limit = bound_ ? b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, length(), bound_) : length();
  Values at{b.CreateSelect(places.exists(0, limit), places.token(0).base, e_.i32(-1))};
  at.insert(at.end(), unlisted_.begin(), unlisted_.end());
  move(e_.slot(row_map_slot(param_)), row, at);
  Value* next = b.CreateAdd(row, e_.i32(1));
  row->addIncoming(e_.i32(0), before);
  row->addIncoming(next, b.GetInsertBlock());
  e_.loop_back(b.CreateICmpULT(next, e_.i32(order_.tile())), body, end);
  b.SetInsertPoint(end);
}

}  // namespace tessera::backend
