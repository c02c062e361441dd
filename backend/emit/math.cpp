#include <tessera/backend/emit/math.h>

#include <numbers>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/ptx_asm.h>

namespace tessera::backend {

using ir::OpCode;
using llvm::Value;
namespace id = llvm::Intrinsic;

namespace {

Value* number(Emitter& e, double value) { return llvm::ConstantFP::get(e.b.getFloatTy(), value); }

InternalError no_such(OpCode code, DType dtype) {
  return InternalError("no code for " + std::string(ir::info(code).name) + " of " + std::string(name_of(dtype)));
}

Value* exp2(Emitter& e, Value* a) { return e.intrinsic(id::nvvm_ex2_approx_ftz, {a}, {e.b.getFloatTy()}); }
Value* log2(Emitter& e, Value* a) { return e.intrinsic(id::nvvm_lg2_approx_ftz_f, {a}); }

// The hardware's tanh.approx has 11 bits; scores that pass through a soft cap need more. 1 - 2 / (exp(2|x|) + 1), and
// the series where that cancels: within 4e-7 of the value everywhere.
Value* tanh(Emitter& e, Value* a) {
  auto& b = e.b;
  Value* size = b.CreateUnaryIntrinsic(id::fabs, a);
  Value* power = exp2(e, b.CreateFMul(size, number(e, 2 * std::numbers::log2e)));
  Value* far = b.CreateFSub(number(e, 1), b.CreateFMul(number(e, 2), reciprocal(e, b.CreateFAdd(power, number(e, 1)))));
  Value *square = b.CreateFMul(a, a), *series = number(e, -17.0 / 315);
  for (double coefficient : {2.0 / 15, -1.0 / 3, 1.0})
    series = b.CreateIntrinsic(b.getFloatTy(), id::fma, {series, square, number(e, coefficient)});
  Value* near = b.CreateFMul(a, series);
  return b.CreateSelect(b.CreateFCmpOLT(size, number(e, 0.25)), near, b.CreateBinaryIntrinsic(id::copysign, far, a));
}

// Quotient rounded to minus infinity, and remainder with the divisor's sign. Division by zero gives 0 for both, and -1
// is set apart because INT_MIN / -1 overflows.
struct FloorDivision {
  Value *quotient, *remainder;
};

FloorDivision floor_divide(Emitter& e, Value* a, Value* divisor) {
  auto& b = e.b;
  Value *zero = e.i32(0), *is_zero = b.CreateICmpEQ(divisor, zero), *is_minus_one = b.CreateICmpEQ(divisor, e.i32(-1));
  Value* safe = b.CreateSelect(b.CreateOr(is_zero, is_minus_one), e.i32(1), divisor);
  Value *quotient = b.CreateSDiv(a, safe), *remainder = b.CreateSub(a, b.CreateMul(quotient, safe));
  Value* crosses = b.CreateAnd(b.CreateICmpNE(remainder, zero), b.CreateICmpSLT(b.CreateXor(remainder, safe), zero));
  quotient = b.CreateAdd(quotient, b.CreateSExt(crosses, b.getInt32Ty()));
  remainder = b.CreateAdd(remainder, b.CreateSelect(crosses, safe, zero));
  quotient = b.CreateSelect(is_minus_one, b.CreateNeg(a), b.CreateSelect(is_zero, zero, quotient));
  return {quotient, b.CreateSelect(b.CreateOr(is_zero, is_minus_one), zero, remainder)};
}

Value* integer_binary(Emitter& e, OpCode code, Value* x, Value* y) {
  auto& b = e.b;
  switch (code) {
    case OpCode::add: return b.CreateAdd(x, y);
    case OpCode::sub: return b.CreateSub(x, y);
    case OpCode::mul: return b.CreateMul(x, y);
    case OpCode::div: return floor_divide(e, x, y).quotient;
    case OpCode::mod: return floor_divide(e, x, y).remainder;
    case OpCode::min: return b.CreateBinaryIntrinsic(id::smin, x, y);
    case OpCode::max: return b.CreateBinaryIntrinsic(id::smax, x, y);
    default: throw no_such(code, DType::i32);
  }
}

Value* logic_binary(Emitter& e, OpCode code, Value* x, Value* y) {
  switch (code) {
    case OpCode::logical_and:
    case OpCode::min:
    case OpCode::mul: return e.b.CreateAnd(x, y);
    case OpCode::logical_or:
    case OpCode::max: return e.b.CreateOr(x, y);
    default: throw no_such(code, DType::i1);
  }
}

}  // namespace

Value* reciprocal(Emitter& e, Value* a) { return e.intrinsic(id::nvvm_rcp_approx_ftz_f, {a}); }

Value* unary_math(Emitter& e, OpCode code, DType dtype, Value* a) {
  auto& b = e.b;
  if (code == OpCode::logical_not) return b.CreateNot(a);
  if (dtype == DType::i32) {
    if (code == OpCode::neg) return b.CreateNeg(a);
    if (code == OpCode::abs) return b.CreateBinaryIntrinsic(id::abs, a, b.getFalse());
    throw no_such(code, dtype);
  }
  if (dtype == DType::i1) throw no_such(code, dtype);
  switch (code) {
    case OpCode::neg: return b.CreateFNeg(a);
    case OpCode::abs: return b.CreateUnaryIntrinsic(id::fabs, a);
    case OpCode::exp: return exp2(e, b.CreateFMul(a, number(e, std::numbers::log2e)));
    case OpCode::exp2: return exp2(e, a);
    case OpCode::log: return b.CreateFMul(log2(e, a), number(e, std::numbers::ln2));
    case OpCode::log2: return log2(e, a);
    case OpCode::tanh: return tanh(e, a);
    case OpCode::sqrt: return e.intrinsic(id::nvvm_sqrt_approx_ftz_f, {a});
    case OpCode::rsqrt: return e.intrinsic(id::nvvm_rsqrt_approx_ftz_f, {a});
    case OpCode::floor: return b.CreateUnaryIntrinsic(id::floor, a);
    default: throw no_such(code, dtype);
  }
}

Value* binary_math(Emitter& e, OpCode code, DType dtype, Value* x, Value* y) {
  if (dtype == DType::i32) return integer_binary(e, code, x, y);
  if (dtype == DType::i1) return logic_binary(e, code, x, y);
  auto& b = e.b;
  switch (code) {
    case OpCode::add: return b.CreateFAdd(x, y);
    case OpCode::sub: return b.CreateFSub(x, y);
    case OpCode::mul: return b.CreateFMul(x, y);
    case OpCode::div: return e.intrinsic(id::nvvm_div_full_ftz, {x, y});
    case OpCode::min: return b.CreateBinaryIntrinsic(id::minnum, x, y);
    case OpCode::max: return b.CreateBinaryIntrinsic(id::maxnum, x, y);
    default: throw no_such(code, dtype);
  }
}

Value* compare_math(Emitter& e, OpCode code, DType dtype, Value* x, Value* y) {
  using P = llvm::CmpInst::Predicate;
  const bool real = is_float(dtype);
  const auto compare = [&](P f, P i, P u) {
    return real ? e.b.CreateFCmp(f, x, y) : e.b.CreateICmp(dtype == DType::i1 ? u : i, x, y);
  };
  switch (code) {
    case OpCode::lt: return compare(P::FCMP_OLT, P::ICMP_SLT, P::ICMP_ULT);
    case OpCode::le: return compare(P::FCMP_OLE, P::ICMP_SLE, P::ICMP_ULE);
    case OpCode::gt: return compare(P::FCMP_OGT, P::ICMP_SGT, P::ICMP_UGT);
    case OpCode::ge: return compare(P::FCMP_OGE, P::ICMP_SGE, P::ICMP_UGE);
    case OpCode::eq: return compare(P::FCMP_OEQ, P::ICMP_EQ, P::ICMP_EQ);
    case OpCode::ne: return compare(P::FCMP_UNE, P::ICMP_NE, P::ICMP_NE);
    default: throw no_such(code, dtype);
  }
}

Value* cast_math(Emitter& e, DType from, DType to, Value* a) {
  auto& b = e.b;
  const bool to_float = is_float(to);
  if (is_float(from) && to_float) return a;
  if (from == to) return a;
  if (from == DType::i1) return to_float ? b.CreateUIToFP(a, b.getFloatTy()) : b.CreateZExt(a, b.getInt32Ty());
  if (to == DType::i1) return is_float(from) ? b.CreateFCmpUNE(a, number(e, 0)) : b.CreateICmpNE(a, e.i32(0));
  if (to_float) return b.CreateSIToFP(a, b.getFloatTy());
  return e.intrinsic(id::nvvm_f2i_rz, {a});  // saturates, NaN gives 0
}

}  // namespace tessera::backend
