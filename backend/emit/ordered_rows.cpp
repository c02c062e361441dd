#include <tessera/backend/emit/ordered_rows.h>

#include <algorithm>
#include <set>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/ptx_asm.h>

namespace tessera::backend {

using ir::Part;
using llvm::Value;

namespace {

constexpr std::size_t kFewRows = 8;

// What lanes and warps add to the coordinate along `axis`.
std::vector<int> thread_rows(const ir::Layout& layout, ir::Axis axis) {
  std::set<int> rows;
  for (int lane = 0; lane < layout.size(Part::lane); ++lane)
    for (int warp = 0; warp < layout.size(Part::warp); ++warp)
      rows.insert(layout.part_at(axis, Part::lane, lane) + layout.part_at(axis, Part::warp, warp));
  return {rows.begin(), rows.end()};
}

}  // namespace

OrderedRows::OrderedRows(Emitter& e, const Bound& tile, const ir::Layout* layout, Value* row)
    : e_(e), cut_(*tile.cut), firsts_(tile.regs.begin(), tile.regs.end() - 1), row_(row) {
  Value* first = tile.regs.back();
  if (layout) {
    row_ = e.b.CreateNSWAdd(first, thread_part(e, *layout, cut_.axis));
    const auto* start = llvm::dyn_cast<llvm::ConstantInt>(first);
    if (std::vector<int> rows = thread_rows(*layout, cut_.axis); start && rows.size() <= kFewRows)
      for (int r : rows) rows_.push_back(static_cast<int>(start->getSExtValue()) + r);
  }
}

Value* OrderedRows::offset_of(std::size_t from, std::size_t to, Value* row) {
  auto& b = e_.b;
  Value* sum = e_.i32(0);
  for (std::size_t i = from; i <= to; ++i) {
    const int values = cut_.order.digits[i].tile;
    if (i > 0 && values == 1) continue;
    Value* place = b.CreateUDiv(row, e_.i32(cut_.order.rows_between(i)));
    if (i > 0) place = b.CreateURem(place, e_.i32(values));
    sum = b.CreateAdd(sum, b.CreateMul(place, e_.i32(weight(i, to))));
  }
  return sum;
}

// values[i] where the row is rows_[i].
Value* OrderedRows::choose(Value* row, const std::vector<int>& values) {
  Value* chosen = e_.i32(values[0]);
  for (std::size_t i = 1; i < values.size(); ++i)
    if (values[i] != values[i - 1])
      chosen = e_.b.CreateSelect(e_.b.CreateICmpSGE(row, e_.i32(rows_[i])), e_.i32(values[i]), chosen);
  return chosen;
}

Affine OrderedRows::number(std::size_t from, std::size_t to, int part) {
  auto& b = e_.b;
  Number& n = numbers_[{from, to}];
  if (const auto known = n.parts.find(part); known != n.parts.end()) return known->second;
  const auto offset = [&](int row) { return static_cast<int>(cut_.order.offset(from, to, row)); };
  const auto values = [&](auto&& of) {
    std::vector<int> all;
    for (int row : rows_) all.push_back(of(row));
    return all;
  };
  const auto start = [&] {
    Value* sum = e_.i32(0);
    for (std::size_t i = from; i <= to; ++i) sum = b.CreateAdd(sum, b.CreateMul(firsts_[i], e_.i32(weight(i, to))));
    return sum;
  };
  if (rows_.empty()) {
    Value* row = part ? b.CreateAdd(row_, e_.i32(part)) : row_;
    return n.parts[part] = {b.CreateAdd(start(), offset_of(from, to, row)), 0};
  }
  if (!n.base) n.base = b.CreateAdd(start(), choose(row_, values(offset)));
  const std::vector<int> more = values([&](int row) { return offset(row + part) - offset(row); });
  if (std::all_of(more.begin(), more.end(), [&](int m) { return m == more[0]; }))
    return n.parts[part] = {n.base, more[0]};
  if (!hidden_row_) hidden_row_ = opaque(b, row_);
  return n.parts[part] = {b.CreateAdd(n.base, choose(hidden_row_, more)), 0};
}

Value* OrderedRows::exists(int part, Value* end) {
  auto& b = e_.b;
  Value* all = nullptr;
  const auto also = [&](Value* condition) { all = all ? b.CreateAnd(all, condition) : condition; };
  const ir::Order& order = cut_.order;
  for (std::size_t i = 0; i < order.digits.size(); ++i) {
    if (i > 0 && !order.is_clipped(i)) continue;
    const Affine at = number(i, order.digits.size() - 1, part);
    Value* tokens = at.offset ? b.CreateAdd(at.base, e_.i32(at.offset)) : at.base;
    Value* limit = i == 0 ? b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, end, e_.i32(0))
                          : e_.i32(static_cast<int>(order.digits[i - 1].weight));
    also(b.CreateICmpULT(tokens, limit));  // unsigned: what lies before the first token does not exist either
  }
  if (cut_.is_padded()) also(b.CreateICmpSLT(row_, e_.i32(order.tile() - part)));
  return all;
}

OrderedPlaces ordered_places(Emitter& e, const Bound& tile, const ir::Type& type, ir::Axis axis, Value* end) {
  OrderedRows rows(e, tile, type.layout.get());
  OrderedPlaces places;
  for (int r = 0; r < registers_of(type); ++r) {
    const int part = type.layout->part_at(axis, Part::reg, r);
    if (places.tokens.contains(part)) continue;
    const Affine at = rows.token(part);
    places.tokens[part] = at.offset ? e.b.CreateAdd(at.base, e.i32(at.offset)) : at.base;
    places.exist[part] = rows.exists(part, end);
  }
  return places;
}

void emit_tile_at(Emitter& e, const ir::Op& op) {
  Bound tile{.cut = &e.kernel.orders.at(static_cast<std::size_t>(op.index))};
  for (ir::Value v : op.operands) tile.regs.push_back(e.scalar(v));
  e.bind(op.results[0], std::move(tile));
}

void emit_places(Emitter& e, const ir::Op& op) {
  const ir::Type& type = e.type(op.results[0]);
  OrderedRows rows(e, e[op.operands[0]], type.layout.get());
  const auto part = [&](int r) { return type.layout->part_at(op.axis, Part::reg, r); };
  if (op.code == ir::OpCode::position) {
    Bound result{.position = true};
    const ir::Order& order = e[op.operands[0]].cut->order;
    const std::size_t from = op.index < 0 ? 0 : static_cast<std::size_t>(op.index),
                      to = op.index < 0 ? order.digits.size() - 1 : static_cast<std::size_t>(op.number);
    if (!order.is_number(from, to)) throw InternalError("digits that are no number: " + to_string(order));
    for (int r = 0; r < registers_of(type); ++r) {
      const Affine at = rows.number(from, to, part(r));
      result.affine.push_back(at);
      result.regs.push_back(at.offset ? e.b.CreateNSWAdd(at.base, e.i32(at.offset)) : at.base);
    }
    return e.bind(op.results[0], std::move(result));
  }
  Value* end = e.length(op.axis);
  if (op.operands.size() > 1) end = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, e.scalar(op.operands[1]));
  e.bind(op.results[0], make(e, type, [&](int r) { return rows.exists(part(r), end); }));
}

}  // namespace tessera::backend
