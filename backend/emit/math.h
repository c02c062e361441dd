// The arithmetic of one element: what each elementwise op means in LLVM. Floats are f32 here.
//
// Accuracy, in units in the last place of the f32 result: exp2 2 (denormal results flush to 0), log2 absolute error
// 2^-22 near 1, exp and log one rounding more, rsqrt and sqrt 2, division 2, tanh 4e-7 of the value. Denormal operands
// count as 0. Products and sums contract into fma.
#pragma once

#include <tessera/backend/emit/emitter.h>

namespace tessera::backend {

llvm::Value* unary_math(Emitter& e, ir::OpCode code, DType dtype, llvm::Value* a);
llvm::Value* binary_math(Emitter& e, ir::OpCode code, DType dtype, llvm::Value* a, llvm::Value* b);
llvm::Value* compare_math(Emitter& e, ir::OpCode code, DType dtype, llvm::Value* a, llvm::Value* b);
// Between arithmetic types: both are the dtype of the IR, with 16-bit floats as f32.
llvm::Value* cast_math(Emitter& e, DType from, DType to, llvm::Value* a);
// 1 / a: for dividing many elements by one. Accurate while 2^-126 <= |a| <= 2^126.
llvm::Value* reciprocal(Emitter& e, llvm::Value* a);

}  // namespace tessera::backend
