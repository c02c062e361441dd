// Ops that move elements between registers or threads: reductions, broadcasts, changes of layout.
#include <algorithm>
#include <limits>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/math.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/placement.h>

namespace tessera::backend {

using ir::Digit;
using ir::Op;
using ir::OpCode;
using ir::Part;
using ir::Type;
using llvm::Value;

namespace {

OpCode combiner(OpCode reduce) {
  switch (reduce) {
    case OpCode::reduce_max: return OpCode::max;
    case OpCode::reduce_min: return OpCode::min;
    case OpCode::reduce_sum: return OpCode::add;
    case OpCode::reduce_any: return OpCode::logical_or;
    case OpCode::reduce_all: return OpCode::logical_and;
    default: throw InternalError("not a reduction: " + std::string(ir::info(reduce).name));
  }
}

// One reduction: elements of `dtype` combine by `code`; predicates cross lanes and memory as i32.
struct Reduction {
  Emitter& e;
  OpCode code;
  DType dtype;

  Value* operator()(Value* a, Value* b) const { return binary_math(e, code, dtype, a, b); }
  Value* as_word(Value* v) const { return dtype == DType::i1 ? e.b.CreateZExt(v, e.b.getInt32Ty()) : v; }
  Value* from_word(Value* v) const { return dtype == DType::i1 ? e.b.CreateICmpNE(v, e.i32(0)) : v; }

  Value* butterfly(Value* v, int mask) const {
    const unsigned id =
        is_float(dtype) ? llvm::Intrinsic::nvvm_shfl_sync_bfly_f32 : llvm::Intrinsic::nvvm_shfl_sync_bfly_i32;
    return from_word(e.intrinsic(id, {e.i32(-1), as_word(v), e.i32(mask), e.i32(31)}));
  }
};

// Four chains hide the latency of one; then the chains pairwise.
Value* combine(const Reduction& reduce, const Values& elements) {
  Values chains(elements.begin(), elements.begin() + std::min<std::ptrdiff_t>(4, std::ssize(elements)));
  for (std::size_t i = chains.size(); i < elements.size(); ++i) chains[i % 4] = reduce(chains[i % 4], elements[i]);
  for (; chains.size() > 1; chains.resize((chains.size() + 1) / 2))
    for (std::size_t i = 0, half = (chains.size() + 1) / 2; i + half < chains.size(); ++i)
      chains[i] = reduce(chains[i], chains[i + half]);
  return chains.at(0);
}

// Over the lanes that differ along the axis: all get the same bits, since the operation commutes.
Value* across_lanes(const Reduction& reduce, const ir::Layout& layout, ir::Axis axis, Value* v) {
  int stride = 1;
  for (const Digit& d : layout.digits(Part::lane)) {
    if (d.axis == axis) {
      if ((d.size & (d.size - 1)) != 0 || (stride & (stride - 1)) != 0)
        throw InternalError("a reduction over lanes needs powers of two: " + to_string(layout));
      for (int mask = stride; mask < stride * d.size; mask *= 2) v = reduce(v, reduce.butterfly(v, mask));
    }
    stride *= d.size;
  }
  return v;
}

Value* scratch_word(Emitter& e, Value* word) {
  Value* area = e.b.CreateMul(e.scope.area, e.i32(e.plan.scratch_bytes));
  return e.shared(e.b.CreateAdd(e.b.CreateAdd(area, e.i32(e.plan.scratch)), e.b.CreateShl(word, 2)));
}

// Every warp leaves its partial results in scratch and combines, in the order of the warps, those that differ from its
// own only along the axis.
void across_warps(const Reduction& reduce, const Type& from, ir::Axis axis, Values& values) {
  Emitter& e = reduce.e;
  const int n = static_cast<int>(values.size());
  const auto word = [&](Value* warp, int r) {
    return scratch_word(e, e.b.CreateAdd(e.b.CreateMul(warp, e.i32(n * 32)), e.b.CreateAdd(e.lane, e.i32(r * 32))));
  };
  for (int r = 0; r < n; ++r) e.b.CreateStore(reduce.as_word(values[r]), word(e.scope.warp, r));
  e.sync_scope();
  std::vector<std::pair<int, int>> over;  // stride and size of the axis's digits
  Value* base = e.scope.warp;             // this warp's index with those digits at 0
  int stride = 1;
  for (const Digit& d : from.layout->digits(Part::warp)) {
    if (d.axis == axis) {
      over.emplace_back(stride, d.size);
      Value* at = e.b.CreateURem(e.b.CreateUDiv(e.scope.warp, e.i32(stride)), e.i32(d.size));
      base = e.b.CreateSub(base, e.b.CreateMul(at, e.i32(stride)));
    }
    stride *= d.size;
  }
  std::vector<int> members = {0};
  for (auto [step, size] : over) {
    std::vector<int> more;
    for (int i = 0; i < size; ++i)
      for (int m : members) more.push_back(m + i * step);
    members = std::move(more);
  }
  llvm::Type* type = is_float(reduce.dtype) ? e.b.getFloatTy() : e.b.getInt32Ty();
  for (int r = 0; r < n; ++r) {
    Values parts;
    for (int m : members)
      parts.push_back(reduce.from_word(e.b.CreateLoad(type, word(e.b.CreateAdd(base, e.i32(m)), r))));
    values[r] = combine(reduce, parts);
  }
  e.sync_scope();
}

}  // namespace

void emit_reduce(Emitter& e, const Op& op) {
  const Type &from = e.type(op.operands[0]), &to = e.type(op.results[0]);
  const Bound& tile = e[op.operands[0]];
  if (from.layout->replicates(Part::reg))
    throw InternalError("reduction of a tile with repeated registers: " + to_string(from));
  const Reduction reduce{e, combiner(op.code), from.dtype};
  const int n = registers_of(to);
  std::vector<Values> members(static_cast<std::size_t>(n));
  if (to.is_scalar()) {
    for (int r = 0; r < registers_of(from); ++r) members[0].push_back(element(e, tile, from, r));
  } else {
    const std::vector<int>& map = e.registers(from, to);
    for (int r = 0; r < registers_of(from); ++r) members[map[r]].push_back(element(e, tile, from, r));
  }
  Values values;
  for (const Values& m : members) values.push_back(across_lanes(reduce, *from.layout, op.axis, combine(reduce, m)));
  if (scratch_of(e.kernel, op) > 0) across_warps(reduce, from, op.axis, values);
  e.bind(op.results[0], make(e, to, [&](int r) { return values[r]; }));
}

// Where the axis's places modulo the result's extent are those of the result in the same thread.
void emit_partial_sum(Emitter& e, const Op& op) {
  const Type &from = e.type(op.operands[0]), &to = e.type(op.results[0]);
  if (!same_threads(from, to)) throw InternalError("a partial sum that crosses threads: " + to_string(from));
  const Bound& tile = e[op.operands[0]];
  std::vector<Values> members(static_cast<std::size_t>(registers_of(to)));
  for (int r = 0; r < registers_of(from); ++r) {
    std::vector<ir::Coordinate> at;
    for (const ir::Dim& d : to.dims) {
      const int place = from.layout->part_at(d.axis, Part::reg, r);
      at.push_back({d.axis, d.axis == op.axis ? place % d.extent : place});
    }
    const int member = to.layout->register_of(at);
    if (member < 0) throw InternalError("a partial sum lacks a register of its result: " + to_string(to));
    members[static_cast<std::size_t>(member)].push_back(element(e, tile, from, r));
  }
  const Reduction add{e, OpCode::add, from.dtype};
  e.bind(op.results[0], make(e, to, [&](int r) { return combine(add, members[static_cast<std::size_t>(r)]); }));
}

void emit_broadcast(Emitter& e, const Op& op) {
  const Type &from = e.type(op.operands[0]), &to = e.type(op.results[0]);
  const Bound source = e[op.operands[0]];
  if (to.is_scalar()) return e.bind(op.results[0], source);
  const std::vector<int>& map = e.registers(to, from);
  Bound result = make_raw(e, to, [&](int r) { return raw_element(e, source, from, map[r]); });
  result.position = source.position;
  if (!source.affine.empty())
    for (int r : map) result.affine.push_back(source.affine[r]);
  if (!source.bits.empty())
    for (int r : map) result.bits.push_back(source.bits[r]);
  result.comparisons = source.comparisons;
  e.bind(op.results[0], std::move(result));
}

namespace {

// Through scratch: every thread writes what it holds, then reads what it needs.
Bound exchange(Emitter& e, const Bound& source, const Type& from, const Type& to) {
  const auto word = [&](const Type& type, const Values& thread, int r) {
    Value* at = e.i32(0);
    for (std::size_t d = 0; d < type.dims.size(); ++d) {
      const int reg = type.layout->part_at(type.dims[d].axis, Part::reg, r);
      const int extent = to.extent(type.dims[d].axis);
      at = e.b.CreateAdd(e.b.CreateMul(at, e.i32(extent)), e.b.CreateAdd(thread[d], e.i32(reg)));
    }
    return scratch_word(e, at);
  };
  const auto threads = [&](const Type& type) {
    Values parts;
    for (const ir::Dim& dim : type.dims) parts.push_back(thread_part(e, *type.layout, dim.axis));
    return parts;
  };
  Type in_order = to;  // both sides address the words in the same order of axes
  in_order.layout = from.layout;
  const Values mine = threads(in_order);
  for (int r = 0; r < registers_of(from); ++r) {
    Value* v = raw_element(e, source, from, r);
    e.b.CreateStore(v->getType()->isIntegerTy(1) ? e.b.CreateZExt(v, e.b.getInt32Ty()) : v, word(in_order, mine, r));
  }
  e.sync_scope();
  const Values wanted = threads(to);
  Bound result = make_raw(e, to, [&](int r) -> Value* {
    Value* at = word(to, wanted, r);
    if (to.dtype == DType::i1) return e.b.CreateICmpNE(e.b.CreateLoad(e.b.getInt32Ty(), at), e.i32(0));
    return e.b.CreateLoad(bytes_of(to.dtype) == 2 ? e.b.getInt16Ty() : register_type(e, to), at);
  });
  e.sync_scope();
  return result;
}

}  // namespace

void emit_convert(Emitter& e, const Op& op) {
  const Type &from = e.type(op.operands[0]), &to = e.type(op.results[0]);
  if (to.is_scalar() || same_places(to, *to.layout, *from.layout)) return e.bind(op.results[0], e[op.operands[0]]);
  if (same_threads(to, from)) return emit_broadcast(e, op);
  const Bound source = e[op.operands[0]];
  e.bind(op.results[0], exchange(e, source, from, to));
}

}  // namespace tessera::backend
