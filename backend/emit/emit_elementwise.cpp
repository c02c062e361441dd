// Elementwise ops and leaves. Operands broadcast by name: register by register, through their layouts.
//
// Positions are kept as (base shared by registers) + (constant of the register), so that a comparison of two positions
// costs one difference for the whole tile and one compare with an immediate an element. This takes token positions and
// sums of a few of them not to overflow an i32.
#include <cmath>
#include <map>
#include <numeric>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/math.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/position_bits.h>
#include <tessera/dsl/ir/fold.h>

namespace tessera::backend {

using ir::Op;
using ir::OpCode;
using ir::OpKind;
using ir::Type;
using llvm::Value;

namespace {

constexpr int kSmall = 1 << 24;  // constants up to it cannot make a position overflow
constexpr int kTile = 1 << 12;   // extents of tiles
constexpr int kBitsPay = 2;      // comparisons: one alone takes as long by itself as by bits

// One operand as the result's registers see it.
struct Operand {
  const Bound* bound;
  const Type* type;
  const std::vector<int>* map;  // null: scalar result
  int reg(int r) const { return map ? (*map)[static_cast<std::size_t>(r)] : 0; }
};

Operand operand(Emitter& e, const Type& result, ir::Value v) {
  return {&e[v], &e.type(v), result.is_scalar() ? nullptr : &e.registers(result, e.type(v))};
}

std::vector<Operand> operands(Emitter& e, const Op& op) {
  std::vector<Operand> all;
  for (ir::Value v : op.operands) all.push_back(operand(e, e.type(op.results[0]), v));
  return all;
}

Affine affine(const Operand& o, int r) {
  const int reg = o.reg(r);
  return o.bound->affine.empty() ? Affine{o.bound->regs[reg], 0} : o.bound->affine[reg];
}

bool constant_below(const Bound& bound, int limit) {
  const auto* c = bound.regs.size() == 1 ? llvm::dyn_cast<llvm::ConstantInt>(bound.regs[0]) : nullptr;
  return c && std::abs(c->getSExtValue()) <= limit;
}

// A base made of two others, once for all registers that share both.
class Bases {
 public:
  Bases(Emitter& e, bool subtract) : e_(e), subtract_(subtract) {}
  Value* operator()(Value* a, Value* b) {
    Value*& base = made_[{a, b}];
    if (!base) base = subtract_ ? e_.b.CreateNSWSub(a, b) : e_.b.CreateNSWAdd(a, b);
    return base;
  }

 private:
  Emitter& e_;
  bool subtract_;
  std::map<std::pair<Value*, Value*>, Value*> made_;
};

Bound from_affine(Emitter& e, std::vector<Affine> affine) {
  Bound result{.position = true};
  for (const Affine& a : affine) result.regs.push_back(a.offset ? e.b.CreateNSWAdd(a.base, e.i32(a.offset)) : a.base);
  result.affine = std::move(affine);
  return result;
}

// A tile of positions, a register a distinct constant, plus what is small: no sum of such leaves i32. Other scalars, as
// a program's parameters, may be anything, and their sums wrap.
bool adds_positions(const std::vector<Operand>& in, const Type& result) {
  if (result.dtype != DType::i32 || !in[0].bound->position || !in[1].bound->position) return false;
  return result.is_scalar() || !in[0].bound->affine.empty() || !in[1].bound->affine.empty();
}

Bound add_positions(Emitter& e, bool subtract, const std::vector<Operand>& in, int n) {
  Bases bases(e, subtract);
  std::vector<Affine> sums;
  for (int r = 0; r < n; ++r) {
    const Affine x = affine(in[0], r), y = affine(in[1], r);
    sums.push_back({bases(x.base, y.base), subtract ? x.offset - y.offset : x.offset + y.offset});
  }
  return from_affine(e, std::move(sums));
}

bool compares_positions(const std::vector<Operand>& in) {
  return in[0].type->dtype == DType::i32 && in[0].bound->position && in[1].bound->position &&
         (!in[0].bound->affine.empty() || !in[1].bound->affine.empty());
}

Bound compare_positions(Emitter& e, OpCode code, const Type& type, const std::vector<Operand>& in) {
  Bases bases(e, true);
  Bound result;
  std::vector<Affine> differences;
  for (int r = 0; r < registers_of(type); ++r) {
    const Affine x = affine(in[0], r), y = affine(in[1], r);
    differences.push_back({bases(x.base, y.base), x.offset - y.offset});
    result.regs.push_back(
        compare_math(e, code, DType::i32, differences.back().base, e.i32(-differences.back().offset)));
  }
  result.bits = compare_bits(e, code, differences, type);
  result.comparisons = 1;
  return result;
}

// |x| <= c is x <= c and x >= -c, and its contrary their contrary: words, where positions leave no overflow to think
// of.
void add_magnitude_bits(Emitter& e, OpCode code, const Type& type, const std::vector<Operand>& in, Bound& result) {
  const Operand &x = in[0], &most = in[1];
  if (x.bound->magnitude.empty() || !most.bound->position) return;
  const bool within = code == OpCode::lt || code == OpCode::le;
  if (!within && code != OpCode::gt && code != OpCode::ge) return;
  Bases above(e, true), below(e, false);
  std::vector<Affine> from_above, from_below;
  for (int r = 0; r < registers_of(type); ++r) {
    const Affine a = x.bound->magnitude[static_cast<std::size_t>(x.reg(r))], c = affine(most, r);
    from_above.push_back({above(a.base, c.base), a.offset - c.offset});
    from_below.push_back({below(a.base, c.base), a.offset + c.offset});
  }
  const std::vector<Bit> high = compare_bits(e, code, from_above, type),
                         low = compare_bits(e, ir::mirrored(code), from_below, type);
  if (high.empty() || low.empty()) return;
  const Values none;
  std::vector<int> same(high.size());
  std::iota(same.begin(), same.end(), 0);
  const BitOperand a{high, none, &same}, b{low, none, &same};
  result.bits = combine_bits(e, within ? OpCode::logical_and : OpCode::logical_or, registers_of(type), a, &b);
  result.comparisons = 2;
}

// What stays a position: what start indices, lengths and the bounds of windows are made of.
bool keeps_position(OpCode code, const Type& result, const std::vector<Operand>& in) {
  const auto position = [](const Operand& o) { return o.bound->position; };
  switch (code) {
    case OpCode::min:
    case OpCode::max: return position(in[0]) && position(in[1]);
    case OpCode::add:
    case OpCode::sub: return position(in[0]) && constant_below(*in[1].bound, kSmall);
    case OpCode::mul:  // a tile's number times its tokens
      return result.is_scalar() && ((position(in[0]) && constant_below(*in[1].bound, kTile)) ||
                                    (position(in[1]) && constant_below(*in[0].bound, kTile)));
    case OpCode::div:
    case OpCode::mod: return position(in[0]) && constant_below(*in[1].bound, kSmall);
    case OpCode::select: return position(in[1]) && position(in[2]);
    default: return false;
  }
}

Value* at(Emitter& e, const Operand& o, int r) { return element(e, *o.bound, *o.type, o.reg(r)); }

// Many elements by one: a reciprocal for each divisor and a product for each element.
Bound divide_by_few(Emitter& e, const Type& type, const std::vector<Operand>& in) {
  std::map<int, Value*> reciprocals;
  return make(e, type, [&](int r) {
    Value*& inverse = reciprocals[in[1].reg(r)];
    if (!inverse) inverse = reciprocal(e, at(e, in[1], r));
    return e.b.CreateFMul(at(e, in[0], r), inverse);
  });
}

// A warp whose factors are all 1 goes round the products: uniformly, so that products of matrices may be in flight.
Bound scale(Emitter& e, const Type& type, const std::vector<Operand>& in) {
  auto& b = e.b;
  Value* changes = b.getFalse();
  for (int r = 0, n = registers_of(*in[1].type); r < n; ++r)
    changes = b.CreateOr(changes,
                         b.CreateFCmpUNE(element(e, *in[1].bound, *in[1].type, r), constant_element(e, DType::f32, 1)));
  Value* any = e.intrinsic(llvm::Intrinsic::nvvm_vote_any_sync, {e.i32(-1), changes});
  Values before, after;
  for (int r = 0; r < registers_of(type); ++r) before.push_back(at(e, in[0], r));
  llvm::BasicBlock *from = b.GetInsertBlock(), *body = e.block("scale"), *end = e.block("scaled");
  b.CreateCondBr(any, body, end);
  b.SetInsertPoint(body);
  for (int r = 0; r < registers_of(type); ++r) after.push_back(b.CreateFMul(before[r], at(e, in[1], r)));
  body = b.GetInsertBlock();
  b.CreateBr(end);
  b.SetInsertPoint(end);
  Bound result;
  for (std::size_t r = 0; r < before.size(); ++r) {
    llvm::PHINode* phi = b.CreatePHI(b.getFloatTy(), 2);
    phi->addIncoming(before[r], from);
    phi->addIncoming(after[r], body);
    result.regs.push_back(phi);
  }
  return result;
}

// Of logical operations on tiles: also the words that make up the result.
std::vector<Bit> logic_bits(Emitter& e, OpCode code, const Type& type, const std::vector<Operand>& in) {
  if (type.is_scalar()) return {};
  const auto bits = [](const Operand& o) { return BitOperand{o.bound->bits, o.bound->regs, o.map}; };
  const int n = registers_of(type);
  if (code == OpCode::logical_not) return combine_bits(e, code, n, bits(in[0]), nullptr);
  if (code != OpCode::logical_and && code != OpCode::logical_or) return {};
  const BitOperand other = bits(in[1]);
  return combine_bits(e, code, n, bits(in[0]), &other);
}

Bound binary(Emitter& e, const Op& op, const Type& type, const std::vector<Operand>& in) {
  const int n = registers_of(type);
  if ((op.code == OpCode::add || op.code == OpCode::sub) && adds_positions(in, type))
    return add_positions(e, op.code == OpCode::sub, in, n);
  if (op.code == OpCode::scale) return scale(e, type, in);
  if (op.code == OpCode::div && is_float(type.dtype) && n >= 4 * registers_of(*in[1].type))
    return divide_by_few(e, type, in);
  return make(e, type, [&](int r) { return binary_math(e, op.code, type.dtype, at(e, in[0], r), at(e, in[1], r)); });
}

Bound compare(Emitter& e, const Op& op, const Type& type, const std::vector<Operand>& in) {
  if (compares_positions(in)) return compare_positions(e, op.code, type, in);
  Bound result = make(
      e, type, [&](int r) { return compare_math(e, op.code, in[0].type->dtype, at(e, in[0], r), at(e, in[1], r)); });
  add_magnitude_bits(e, op.code, type, in, result);
  return result;
}

Bound ternary(Emitter& e, const Op& op, const Type& type, const std::vector<Operand>& in) {
  if (op.code == OpCode::select) {
    const Bound& condition = *in[0].bound;
    const bool by_bits = !condition.bits.empty() && condition.comparisons >= kBitsPay;
    return make_raw(e, type, [&](int r) {
      Value* chosen = by_bits ? test_bit(e, condition.bits[static_cast<std::size_t>(in[0].reg(r))]) : at(e, in[0], r);
      return e.b.CreateSelect(chosen, raw_element(e, *in[1].bound, *in[1].type, in[1].reg(r)),
                              raw_element(e, *in[2].bound, *in[2].type, in[2].reg(r)));
    });
  }
  return make(e, type, [&](int r) {
    Value *a = at(e, in[0], r), *b = at(e, in[1], r), *c = at(e, in[2], r);
    if (type.dtype == DType::i32) return e.b.CreateAdd(e.b.CreateMul(a, b), c);
    return static_cast<Value*>(e.b.CreateIntrinsic(llvm::Intrinsic::fma, {e.b.getFloatTy()}, {a, b, c}));
  });
}

Bound unary(Emitter& e, const Op& op, const Type& type, const std::vector<Operand>& in) {
  if (op.code == OpCode::cast)
    return make(e, type, [&](int r) { return cast_math(e, in[0].type->dtype, type.dtype, at(e, in[0], r)); });
  Bound result = make(e, type, [&](int r) { return unary_math(e, op.code, type.dtype, at(e, in[0], r)); });
  if (op.code == OpCode::abs && in[0].bound->position)
    for (int r = 0; r < static_cast<int>(in[0].bound->affine.size()); ++r) result.magnitude.push_back(affine(in[0], r));
  return result;
}

Bound iota(Emitter& e, const Type& type) {
  const ir::Axis axis = type.dims.at(0).axis;
  Value* base = thread_part(e, *type.layout, axis);
  std::vector<Affine> affine;
  for (int r = 0; r < registers_of(type); ++r) affine.push_back({base, type.layout->part_at(axis, ir::Part::reg, r)});
  return from_affine(e, std::move(affine));
}

}  // namespace

void emit_leaf(Emitter& e, const Op& op) {
  const Type& type = e.type(op.results[0]);
  Bound result;
  switch (op.code) {
    case OpCode::constant: {
      result = make(e, type, [&](int) { return constant_element(e, type.dtype, op.number); });
      result.position = type.dtype == DType::i32 && std::abs(op.number) < kSmall;
      break;
    }
    case OpCode::iota: result = iota(e, type); break;
    case OpCode::program_id: result = {.regs = {e.program(op.axis)}, .position = true}; break;
    case OpCode::length: result = {.regs = {e.length(op.axis)}, .position = true}; break;
    case OpCode::group_id: {
      if (!e.scope.group) throw InternalError("group_id outside a role");
      result = {.regs = {e.scope.group}, .position = true};
      break;
    }
    case OpCode::scalar: {
      Value* value = e.slot({.kind = SlotKind::scalar, .param = op.index});
      result = make(e, type, [&](int) { return value; });
      break;
    }
    default: throw InternalError("not a leaf: " + std::string(ir::info(op.code).name));
  }
  e.bind(op.results[0], std::move(result));
}

void emit_elementwise(Emitter& e, const Op& op) {
  const Type& type = e.type(op.results[0]);
  const std::vector<Operand> in = operands(e, op);
  Bound result;
  switch (ir::info(op.code).kind) {
    case OpKind::unary: result = unary(e, op, type, in); break;
    case OpKind::binary: result = binary(e, op, type, in); break;
    case OpKind::compare: result = compare(e, op, type, in); break;
    case OpKind::ternary: result = ternary(e, op, type, in); break;
    default: throw InternalError("not elementwise: " + std::string(ir::info(op.code).name));
  }
  if (type.dtype == DType::i1 && result.bits.empty()) {
    result.bits = logic_bits(e, op.code, type, in);
    for (const Operand& o : in) result.comparisons += o.bound->comparisons;
  }
  if (type.dtype == DType::i32 && keeps_position(op.code, type, in)) result.position = true;
  e.bind(op.results[0], std::move(result));
}

}  // namespace tessera::backend
