#include <tessera/backend/emit/elements.h>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/placement.h>

namespace tessera::backend {

using ir::Digit;
using ir::Part;
using llvm::Value;

namespace {

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

Value* widen(Emitter& e, DType dtype, Value* bits) {
  if (dtype == DType::f16) return e.b.CreateFPExt(e.b.CreateBitCast(bits, e.b.getHalfTy()), e.b.getFloatTy());
  return e.b.CreateBitCast(e.b.CreateShl(e.b.CreateZExt(bits, e.b.getInt32Ty()), 16), e.b.getFloatTy());
}

// An element of a packed pair. The halves of a bf16 pair widen with one shift or one mask.
Value* widen_half(Emitter& e, DType dtype, Value* pair, int half) {
  if (dtype == DType::bf16) {
    Value* bits = half ? e.b.CreateAnd(pair, 0xFFFF0000u) : e.b.CreateShl(pair, 16);
    return e.b.CreateBitCast(bits, e.b.getFloatTy());
  }
  Value* bits = half ? e.b.CreateLShr(pair, 16) : pair;
  return widen(e, dtype, e.b.CreateTrunc(bits, e.b.getInt16Ty()));
}

std::uint32_t constant_bits(DType dtype, const llvm::ConstantFP* c) {
  llvm::APFloat value = c->getValueAPF();
  bool inexact = false;
  value.convert(dtype == DType::bf16 ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(),
                llvm::APFloat::rmNearestTiesToEven, &inexact);
  return static_cast<std::uint32_t>(value.bitcastToAPInt().getZExtValue());
}

Value* round_pair(Emitter& e, DType dtype, Value* low, Value* high) {
  const auto *l = llvm::dyn_cast<llvm::ConstantFP>(low), *h = llvm::dyn_cast<llvm::ConstantFP>(high);
  if (l && h) return e.b.getInt32(constant_bits(dtype, l) | constant_bits(dtype, h) << 16);
  const unsigned id = dtype == DType::bf16 ? llvm::Intrinsic::nvvm_ff2bf16x2_rn : llvm::Intrinsic::nvvm_ff2f16x2_rn;
  return e.b.CreateBitCast(e.intrinsic(id, {high, low}), e.b.getInt32Ty());
}

Value* join(Emitter& e, Value* low, Value* high) {
  llvm::Type* i32 = e.b.getInt32Ty();
  return e.b.CreateOr(e.b.CreateZExt(low, i32), e.b.CreateShl(e.b.CreateZExt(high, i32), 16));
}

// Digit number `d` of the hardware index `index`.
Value* digit(Emitter& e, const std::vector<Digit>& digits, std::size_t d, Value* index) {
  int below = 1;
  for (std::size_t i = 0; i < d; ++i) below *= digits[i].size;
  if (below > 1) index = e.b.CreateUDiv(index, e.i32(below));
  return d + 1 < digits.size() ? e.b.CreateURem(index, e.i32(digits[d].size)) : index;
}

}  // namespace

bool packed(const ir::Type& type) { return is_half(type.dtype) && !type.is_scalar() && registers_of(type) % 2 == 0; }

int register_values(const ir::Type& type) { return packed(type) ? registers_of(type) / 2 : registers_of(type); }

llvm::Type* register_type(Emitter& e, const ir::Type& type) {
  switch (type.dtype) {
    case DType::i1: return e.b.getInt1Ty();
    case DType::i32: return e.b.getInt32Ty();
    case DType::f32: return e.b.getFloatTy();
    case DType::f16:
    case DType::bf16: return packed(type) ? e.b.getInt32Ty() : e.b.getInt16Ty();
  }
  throw InternalError("unknown dtype");
}

Value* raw_element(Emitter& e, const Bound& tile, const ir::Type& type, int reg) {
  if (!packed(type)) return tile.regs.at(reg);
  Value* pair = tile.regs.at(reg / 2);
  return e.b.CreateTrunc(reg % 2 ? e.b.CreateLShr(pair, 16) : pair, e.b.getInt16Ty());
}

Value* element(Emitter& e, const Bound& tile, const ir::Type& type, int reg) {
  if (!is_half(type.dtype)) return tile.regs.at(reg);
  if (packed(type)) return widen_half(e, type.dtype, tile.regs.at(reg / 2), reg % 2);
  return widen(e, type.dtype, tile.regs.at(reg));
}

Bound make_raw(Emitter& e, const ir::Type& type, const ElementAt& at) {
  Bound result;
  const int n = registers_of(type);
  for (int r = 0; r < n; r += packed(type) ? 2 : 1) {
    Value* low = at(r);
    result.regs.push_back(packed(type) ? join(e, low, at(r + 1)) : low);
  }
  return result;
}

Bound make(Emitter& e, const ir::Type& type, const ElementAt& at) {
  if (!is_half(type.dtype)) return make_raw(e, type, at);
  Bound result;
  const int n = registers_of(type);
  for (int r = 0; r < n; r += packed(type) ? 2 : 1) {
    Value* low = at(r);
    Value* pair = round_pair(e, type.dtype, low, packed(type) ? at(r + 1) : low);
    result.regs.push_back(packed(type) ? pair : e.b.CreateTrunc(pair, e.b.getInt16Ty()));
  }
  return result;
}

Value* constant_element(Emitter& e, DType dtype, double number) {
  switch (dtype) {
    case DType::i1: return e.b.getInt1(number != 0);
    case DType::i32: return e.i32(static_cast<int>(number));
    default: return llvm::ConstantFP::get(e.b.getContext(), llvm::APFloat(static_cast<float>(number)));
  }
}

Value* thread_part(Emitter& e, const ir::Layout& layout, ir::Axis axis) {
  if (layout.size(Part::lane) != 32 || layout.size(Part::warp) != e.scope.warps)
    throw InternalError("a layout of " + std::to_string(layout.size(Part::warp)) + " warps of " +
                        std::to_string(layout.size(Part::lane)) + " lanes in code that " +
                        std::to_string(e.scope.warps) + " warps run: " + to_string(layout));
  Value* sum = e.i32(0);
  for (Part part : {Part::lane, Part::warp}) {
    const std::vector<Digit>& digits = layout.digits(part);
    for (std::size_t d = 0; d < digits.size(); ++d) {
      if (digits[d].axis != axis) continue;
      Value* at = digit(e, digits, d, part == Part::lane ? e.lane : e.scope.warp);
      sum = e.b.CreateNSWAdd(sum, e.b.CreateNSWMul(at, e.i32(digits[d].step)));
    }
  }
  return sum;
}

Value* first_copy(Emitter& e, const ir::Layout& layout) {
  Value* first = nullptr;
  for (Part part : {Part::lane, Part::warp}) {
    const std::vector<Digit>& digits = layout.digits(part);
    for (std::size_t d = 0; d < digits.size(); ++d) {
      if (digits[d].axis) continue;
      Value* zero = e.b.CreateICmpEQ(digit(e, digits, d, part == Part::lane ? e.lane : e.scope.warp), e.i32(0));
      first = first ? e.b.CreateAnd(first, zero) : zero;
    }
  }
  return first;
}

}  // namespace tessera::backend
