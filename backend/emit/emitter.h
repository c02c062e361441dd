// The state of one emission: a placed kernel on its way to an LLVM module.
//
// A tile is a list of scalars, one a layout register: LLVM never sees an array, so nothing can land in local memory.
// Tiles of 16-bit elements with an even number of registers are kept as packed pairs (register 2i in the low half),
// which is what wgmma reads, what memory holds, and what one conversion instruction makes. Arithmetic on them is f32.
// Scalars are the same in all threads.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <tessera/backend/artifact.h>
#include <tessera/backend/emit/emit.h>
#include <tessera/backend/emit/memory_plan.h>

namespace tessera::backend {

class DebugInfo;

using Values = std::vector<llvm::Value*>;

// A value as a base that registers share plus a constant of the register's own.
struct Affine {
  llvm::Value* base = nullptr;
  int offset = 0;
};

// An element of a predicate, as a bit of a word.
struct Bit {
  llvm::Value* word = nullptr;
  int at = 0;
};

// A value of the placed kernel in LLVM's terms.
struct Bound {
  Values regs{};                       // tiles and scalars
  std::vector<Affine> affine{};        // i32: regs[r] == affine[r].base + affine[r].offset; may be empty
  std::vector<Affine> magnitude{};     // i32: regs[r] is the absolute value of this; may be empty
  std::vector<Bit> bits{};             // i1 tiles: regs[r] == bit `at` of the word (position_bits.h); may be empty
  int comparisons = 0;                 // that bits stand for
  bool position = false;               // i32: a token position or a small sum of such: differences do not overflow
  const ir::AxisOrder* cut = nullptr;  // handle of a tile: its order; regs are the operands of tile_at
  const Ring* ring = nullptr;          // shared, barrier, view
  llvm::Value* offset = nullptr;       // view: bytes from the start of shared memory (i32)
};

// Who runs the code being emitted.
struct Scope {
  int warps = 0;                 // that a tile is spread over
  llvm::Value* warp = nullptr;   // i32, which of them this is
  llvm::Value* group = nullptr;  // i32, which warpgroup of its role; null outside roles
  llvm::Value* area = nullptr;   // i32, which scratch area and named barrier are this group's
  llvm::Value* turn = nullptr;   // i32, the named barrier of this warpgroup's turns, and that of the next one's
  llvm::Value* next_turn = nullptr;
  llvm::Value* leader = nullptr;  // i1, one thread
  bool one_thread = false;        // a producer: only one thread runs the region
};

class Emitter {
 public:
  Emitter(llvm::LLVMContext& context, const ir::Kernel& kernel, const Target& target, const EmitOptions& options);
  ~Emitter();

  // Builds the whole function. Call once.
  std::unique_ptr<llvm::Module> run();

  const ir::Kernel& kernel;
  const Target& target;
  const MemoryPlan plan;
  const std::vector<Slot> slots;
  std::unique_ptr<llvm::Module> module;
  llvm::IRBuilder<> b;
  llvm::Function* function = nullptr;
  Scope scope;
  llvm::Value* thread = nullptr;  // index in the block
  llvm::Value* lane = nullptr;
  llvm::Value* warp = nullptr;       // uniform: read through a shuffle
  llvm::BasicBlock* done = nullptr;  // returns

  const ir::Type& type(ir::Value v) const { return kernel.type(v); }
  Bound& operator[](ir::Value v);  // InternalError before its definition
  void bind(ir::Value v, Bound bound) { bound_[v.id] = std::move(bound); }
  llvm::Value* scalar(ir::Value v) { return (*this)[v].regs.at(0); }

  llvm::Value* slot(const Slot& slot) const;  // the kernel parameter
  llvm::Value* program(ir::Axis grid_axis);   // program index along it
  // From the first store of a program's own block on, its coordinates are worked out anew: until then they would take
  // registers through its loops.
  void finish_program(const ir::Op& store);
  // Elements from one index of a tensor's dim to the next. Where a program is being finished it is worked out anew,
  // too: its multiples are many, and the same in every program.
  llvm::Value* stride(int param, int dim);
  void in_programs(const ir::Block* block) { program_block_ = block; }
  llvm::Value* first_program();          // the block's: its number
  void at_program(llvm::Value* number);  // what follows computes this program of the launch
  llvm::Value* length(ir::Axis axis);    // of the axis in tokens: constant where the kernel knows it

  llvm::Value* zero();  // address of a word of global memory that is 0

  llvm::Value* shared(llvm::Value* offset);          // pointer to a byte of shared memory
  llvm::Value* shared_address(llvm::Value* offset);  // the same as i32 address
  llvm::CallInst* intrinsic(unsigned id, const Values& arguments, const std::vector<llvm::Type*>& overloads = {});
  llvm::Value* i32(int value) { return b.getInt32(static_cast<std::uint32_t>(value)); }
  llvm::BasicBlock* block(const char* name);  // a new one, at the end of the function
  // The end of a loop's body: on to `body` while `condition` holds. Nobody unrolls it: products are unrolled already,
  // and a producer has no registers for two trips at once.
  void loop_back(llvm::Value* condition, llvm::BasicBlock* body, llvm::BasicBlock* end);
  void sync_scope();  // all threads of the scope have come here
  // Runs `body` where `condition` holds; values do not flow out.
  template <class Body>
  void when(llvm::Value* condition, const char* name, const Body& body) {
    llvm::BasicBlock *then = block(name), *end = block("end");
    b.CreateCondBr(condition, then, end);
    b.SetInsertPoint(then);
    body();
    b.CreateBr(end);
    b.SetInsertPoint(end);
  }

  // The ops of a block; returns what it yields.
  std::vector<ir::Value> emit(const ir::Block& block);

  // Results of register_map(result, operand), computed once.
  const std::vector<int>& registers(const ir::Type& result, const ir::Type& operand);

 private:
  void emit(const ir::Op& op);
  void create_function();
  void prologue();
  void init_barriers();
  void zero_padding();

  std::vector<Bound> bound_;
  std::vector<llvm::Value*> programs_;  // by grid axis; null where nothing asks
  llvm::Value* number_ = nullptr;       // of the program, while its coordinates are those of its start
  llvm::Value* none_ = nullptr;         // 0, which the compiler cannot know, where a program is being finished
  const ir::Block* program_block_ = nullptr;
  llvm::GlobalVariable *memory_ = nullptr, *zero_ = nullptr;
  std::unique_ptr<DebugInfo> debug_;
  std::map<std::pair<const void*, const void*>, std::vector<int>> maps_;
};

}  // namespace tessera::backend
