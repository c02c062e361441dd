// The loop in which a block takes programs from its launch.
//
// The first program of a block is its own number. The copying role takes the others, by an atomic addition to the
// launch's counter, and leaves each in a mailbox of shared memory with two places, under a pair of mbarriers. Each
// block takes until it gets a number past the last, so that the additions of a launch are as many as its programs, and
// whoever makes the last of them sets the counter back to 0 for the next launch.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/phis.h>
#include <tessera/backend/emit/ptx_asm.h>

namespace tessera::backend {

using ir::Op;
using llvm::Value;

namespace {

namespace id = llvm::Intrinsic;

Value* programs(Emitter& e) { return e.slot({.kind = SlotKind::programs}); }

class Mailbox {
 public:
  // For the program after turn `turn`.
  Mailbox(Emitter& e, Value* turn) : e_(e), plan_(*e.plan.mailbox) {
    Value* place = e.b.CreateAnd(turn, MailboxPlan::kPlaces - 1);
    use_ = e.b.CreateUDiv(turn, e.i32(MailboxPlan::kPlaces));
    word_ = e.b.CreateAdd(e.b.CreateShl(place, 2), e.i32(plan_.words));
    full_ = e.b.CreateAdd(e.b.CreateShl(place, 3), e.i32(plan_.full));
    empty_ = e.b.CreateAdd(e.b.CreateShl(place, 3), e.i32(plan_.empty));
  }

  Value* take() {
    auto& b = e_.b;
    Value* counter = e_.slot({.kind = SlotKind::counter});
    Value* before = b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, e_.i32(1), llvm::Align(4),
                                      llvm::AtomicOrdering::Monotonic);
    Value* last = b.CreateICmpEQ(before, b.CreateSub(programs(e_), e_.i32(1)));
    e_.when(last, "last_taken", [&] { b.CreateAlignedStore(e_.i32(0), counter, llvm::Align(4), true); });
    Value* number = b.CreateAdd(before, e_.intrinsic(id::nvvm_read_ptx_sreg_nctaid_x, {}));
    barrier_wait(b, e_.shared_address(empty_), b.CreateAnd(b.CreateAdd(use_, e_.i32(1)), 1));
    b.CreateAlignedStore(number, e_.shared(word_), llvm::Align(4), true);
    barrier_arrive_if(b, e_.shared_address(full_), b.getTrue());
    return number;
  }

  Value* receive() {
    auto& b = e_.b;
    barrier_wait(b, e_.shared_address(full_), b.CreateAnd(use_, 1));
    Value* number = b.CreateAlignedLoad(b.getInt32Ty(), e_.shared(word_), llvm::Align(4), true);
    e_.sync_scope();  // all threads have read it
    barrier_arrive_if(b, e_.shared_address(empty_), e_.scope.leader);
    return number;
  }

 private:
  Emitter& e_;
  const MailboxPlan& plan_;
  Value *use_, *word_, *full_, *empty_;
};

}  // namespace

void emit_programs(Emitter& e, const Op& op) {
  auto& b = e.b;
  const ir::Block& region = op.regions.at(0);
  const Values init = flatten(e, op.operands);
  Value* first = e.first_program();
  llvm::BasicBlock *before = b.GetInsertBlock(), *body = e.block("program"), *end = e.block("programs_end");
  b.CreateBr(body);  // a launch has at most as many blocks as programs
  b.SetInsertPoint(body);
  llvm::PHINode *turn = b.CreatePHI(b.getInt32Ty(), 2), *number = b.CreatePHI(b.getInt32Ty(), 2);
  const Phis carried = make_phis(e, init);
  e.bind(region.args.at(0), {.regs = {turn}});
  bind_phis(e, {region.args.begin() + 1, region.args.end()}, carried);
  e.at_program(number);
  e.in_programs(&region);
  const Values yielded = flatten(e, e.emit(region));
  Mailbox mailbox(e, turn);
  Value* next = e.scope.one_thread ? mailbox.take() : mailbox.receive();
  llvm::BasicBlock* latch = b.GetInsertBlock();
  turn->addIncoming(e.i32(0), before);
  turn->addIncoming(b.CreateAdd(turn, e.i32(1)), latch);
  number->addIncoming(first, before);
  number->addIncoming(next, latch);
  add_incoming(carried, init, before);
  add_incoming(carried, yielded, latch);
  e.loop_back(b.CreateICmpULT(next, programs(e)), body, end);
  b.SetInsertPoint(end);
  for (std::size_t i = 0, at = 0; i < op.results.size(); ++i) {
    const auto n = static_cast<std::size_t>(register_values(e.type(op.results[i])));
    e.bind(op.results[i], {.regs = {yielded.begin() + at, yielded.begin() + at + n}});
    at += n;
  }
}

}  // namespace tessera::backend
