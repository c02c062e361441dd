// Every piece of inline PTX: what LLVM 22 has no intrinsic for, or has one that optimisers take apart.
//
// Products are asynchronous: their results are registers still being written. Each product ties its old accumulator to
// its new one, and `wait_products` passes the values through, so no use can move above the wait.
#pragma once

#include <string>
#include <vector>

#include <llvm/IR/IRBuilder.h>

namespace tessera::backend {

// A 64-row warpgroup product step over 16 of the contracted axis.
struct ProductStep {
  std::string dtype;                        // "bf16" or "f16"
  int n = 0;                                // columns, a multiple of 8
  std::vector<llvm::Value*> accumulator{};  // n/2 floats; empty: start from zero
  std::vector<llvm::Value*> a_registers{};  // four packed i32, or none
  llvm::Value* a_descriptor = nullptr;      // if there are none
  llvm::Value* b_descriptor = nullptr;
  bool a_transposed = false;  // M contiguous in shared memory
  bool b_transposed = false;  // N contiguous
};
std::vector<llvm::Value*> product_step(llvm::IRBuilderBase& b, const ProductStep& step);

// Until at most `pending` groups of products are in flight. Floats and i32 pass through.
std::vector<llvm::Value*> wait_products(llvm::IRBuilderBase& b, int pending, const std::vector<llvm::Value*>& values);

// Spins until the phase with `parity` of the mbarrier at shared address `barrier` (i32) is complete.
void barrier_wait(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* parity);
// One arrival by the threads for which `predicate` (i1) holds, without a branch.
void barrier_arrive_if(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* predicate);

// The value, of which the compiler no longer knows where it came from.
llvm::Value* opaque(llvm::IRBuilderBase& b, llvm::Value* word);

// word << places, where 32 places and more leave nothing.
llvm::Value* shift_left(llvm::IRBuilderBase& b, llvm::Value* word, llvm::Value* places);

}  // namespace tessera::backend
