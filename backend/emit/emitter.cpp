#include <tessera/backend/emit/emitter.h>

#include <algorithm>
#include <chrono>

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/codegen.h>
#include <tessera/backend/emit/debug_info.h>
#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/ptx_asm.h>
#include <tessera/backend/emit/slots.h>
#include <tessera/backend/ordered_map.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using llvm::Value;

namespace {

llvm::Type* parameter_type(llvm::LLVMContext& c, const ir::Kernel& kernel, const Slot& slot) {
  switch (slot.kind) {
    case SlotKind::tensor_map: return llvm::PointerType::get(c, 0);
    case SlotKind::pointer: return llvm::PointerType::get(c, 1);
    case SlotKind::stride: return llvm::Type::getInt64Ty(c);
    case SlotKind::extent:
    case SlotKind::group:
    case SlotKind::multiple:
    case SlotKind::programs:
    case SlotKind::length: return llvm::Type::getInt32Ty(c);
    case SlotKind::counter: return llvm::PointerType::get(c, 1);
    case SlotKind::scalar:
      return kernel.params[slot.param].dtype == DType::i32 ? llvm::Type::getInt32Ty(c) : llvm::Type::getFloatTy(c);
  }
  throw InternalError("unknown kind of slot");
}

std::string parameter_name(const ir::Kernel& kernel, const Slot& slot) {
  const std::string param = slot.param >= 0 ? kernel.params[slot.param].name : slot.axis.name();
  switch (slot.kind) {
    case SlotKind::tensor_map: return param + "_map" + std::to_string(slot.rows) + (slot.complete ? "_complete" : "");
    case SlotKind::multiple: return param + "_multiple" + std::to_string(slot.dim);
    case SlotKind::pointer: return param;
    case SlotKind::stride: return param + "_stride" + std::to_string(slot.dim);
    case SlotKind::extent: return param + "_extent" + std::to_string(slot.dim);
    case SlotKind::group: return param + "_group" + std::to_string(slot.dim);
    case SlotKind::length: return param + "_length";
    case SlotKind::scalar: return param;
    case SlotKind::programs: return "programs";
    case SlotKind::counter: return "counter";
  }
  throw InternalError("unknown kind of slot");
}

}  // namespace

Emitter::Emitter(llvm::LLVMContext& context, const ir::Kernel& k, const Target& t, const EmitOptions& options)
    : kernel(k),
      target(t),
      plan(plan_memory(k)),
      slots(collect_slots(k)),
      module(std::make_unique<llvm::Module>(k.name, context)),
      b(context),
      bound_(k.values.size()),
      programs_(k.grid.size(), nullptr) {
  set_target(*module, target);
  llvm::FastMathFlags flags;
  flags.setAllowContract();  // a * b + c in one rounding
  b.setFastMathFlags(flags);
  create_function();
  if (options.line_info) {
    const auto first =
        std::find_if(k.entry.ops.begin(), k.entry.ops.end(), [](const ir::Op& op) { return bool(op.loc); });
    debug_ = std::make_unique<DebugInfo>(*module, *function, first == k.entry.ops.end() ? SourceLoc{} : first->loc);
  }
}

Emitter::~Emitter() = default;

void Emitter::create_function() {
  llvm::LLVMContext& c = b.getContext();
  std::vector<llvm::Type*> types;
  for (const Slot& s : slots) types.push_back(parameter_type(c, kernel, s));
  function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false),
                                    llvm::Function::ExternalLinkage, kernel.name, *module);
  function->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("nvvm.maxntid", std::to_string(kernel.threads) + ",1,1");
  function->addFnAttr("nvvm.minctasm", std::to_string(kernel.blocks));
  function->addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  for (std::size_t i = 0; i < slots.size(); ++i) {
    llvm::Argument* argument = function->getArg(static_cast<unsigned>(i));
    argument->setName(parameter_name(kernel, slots[i]));
    if (slots[i].kind == SlotKind::tensor_map) {
      argument->addAttr(llvm::Attribute::getWithByValType(c, llvm::ArrayType::get(b.getInt8Ty(), 128)));
      argument->addAttr(llvm::Attribute::getWithAlignment(c, llvm::Align(64)));
      argument->addAttr(llvm::Attribute::get(c, "nvvm.grid_constant"));
    } else if (slots[i].kind == SlotKind::pointer) {
      argument->addAttr(llvm::Attribute::NoAlias);
      if (kernel.params[slots[i].param].kind != ir::ParamKind::output) argument->addAttr(llvm::Attribute::ReadOnly);
    }
  }
  memory_ = new llvm::GlobalVariable(*module, llvm::ArrayType::get(b.getInt8Ty(), 0), false,
                                     llvm::GlobalValue::ExternalLinkage, nullptr, "smem", nullptr,
                                     llvm::GlobalValue::NotThreadLocal, 3);
  memory_->setAlignment(llvm::Align(1024));
}

std::unique_ptr<llvm::Module> Emitter::run() {
  b.SetInsertPoint(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  done = block("done");
  if (debug_) debug_->set(b, {});
  prologue();
  emit(kernel.entry);
  b.CreateBr(done);
  done->moveAfter(&function->back());
  b.SetInsertPoint(done);
  b.CreateRetVoid();
  if (debug_) debug_->finish();
  return std::move(module);
}

void Emitter::prologue() {
  thread = intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
  lane = b.CreateAnd(thread, 31);
  // A shuffle makes the warp's index uniform in ptxas's eyes, and with it the branches on roles.
  warp = intrinsic(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, {i32(-1), b.CreateLShr(thread, 5), i32(0), i32(31)});
  scope = {.warps = kernel.threads / 32, .warp = warp, .area = i32(0), .leader = b.CreateICmpEQ(thread, i32(0))};
  if (!plan.mailbox) at_program(first_program());
  init_barriers();
}

void Emitter::init_barriers() {
  const bool copies =
      std::any_of(slots.begin(), slots.end(), [](const Slot& s) { return s.kind == SlotKind::tensor_map; });
  if (!copies && plan.barriers.empty()) return;
  when(scope.leader, "init", [&] {
    for (std::uint32_t id : plan.barriers) {
      const Ring& ring = plan.rings.at(id);
      for (int s = 0; s < ring.stages; ++s)
        intrinsic(llvm::Intrinsic::nvvm_mbarrier_init_shared, {shared(i32(ring.offset + 8 * s)), i32(ring.arrivals)});
    }
    if (const auto& box = plan.mailbox)
      for (int i = 0; i < MailboxPlan::kPlaces; ++i) {
        intrinsic(llvm::Intrinsic::nvvm_mbarrier_init_shared, {shared(i32(box->full + 8 * i)), i32(1)});
        intrinsic(llvm::Intrinsic::nvvm_mbarrier_init_shared, {shared(i32(box->empty + 8 * i)), i32(box->readers)});
      }
    intrinsic(llvm::Intrinsic::nvvm_fence_mbarrier_init_release_cluster, {});
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i].kind == SlotKind::tensor_map)
        intrinsic(llvm::Intrinsic::nvvm_prefetch_tensormap, {function->getArg(static_cast<unsigned>(i))},
                  {b.getPtrTy()});
  });
  zero_padding();
  intrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {i32(0)});
}

// Rows that pad the tiles of an order, which no copy writes: products read them.
void Emitter::zero_padding() {
  const std::vector<const ir::Op*> definitions = ir::definitions(kernel);
  std::map<std::uint32_t, int> copied;  // rows, by ring
  ir::walk(kernel.entry, [&](const ir::Op& op) {
    if (op.code != ir::OpCode::copy) return;
    const ir::AxisOrder* cut = order_of(kernel, definitions, op.operands[3]);
    if (cut && cut->is_padded()) copied[definitions[op.operands[0].id]->operands[0].id] = cut->order.tile();
  });
  for (const auto& [id, rows] : copied) {
    const Ring& ring = plan.rings.at(id);
    constexpr int kWords = 128 / 16;  // a row of a chunk
    const int words = (ring.rows - rows) * kWords, chunks = ring.chunks * ring.stages;
    llvm::BasicBlock *before = b.GetInsertBlock(), *body = block("pad"), *store = block("pad_words"),
                     *end = block("padded");
    b.CreateBr(body);
    b.SetInsertPoint(body);
    llvm::PHINode* word = b.CreatePHI(b.getInt32Ty(), 2);
    b.CreateCondBr(b.CreateICmpULT(word, i32(words * chunks)), store, end);
    b.SetInsertPoint(store);
    Value *chunk = b.CreateUDiv(word, i32(words)), *in_chunk = b.CreateURem(word, i32(words));
    Value* stage = b.CreateUDiv(chunk, i32(ring.chunks));
    Value* offset = b.CreateAdd(b.CreateMul(stage, i32(ring.stage_bytes)),
                                b.CreateMul(b.CreateURem(chunk, i32(ring.chunks)), i32(ring.chunk_bytes())));
    offset = b.CreateAdd(offset, b.CreateAdd(b.CreateShl(in_chunk, 4), i32(ring.offset + rows * 128)));
    llvm::Type* vector = llvm::FixedVectorType::get(b.getInt32Ty(), 4);
    b.CreateAlignedStore(llvm::Constant::getNullValue(vector), shared(offset), llvm::Align(16));
    word->addIncoming(thread, before);
    word->addIncoming(b.CreateAdd(word, i32(kernel.threads)), store);
    b.CreateBr(body);
    b.SetInsertPoint(end);
  }
  if (!copied.empty()) intrinsic(llvm::Intrinsic::nvvm_fence_proxy_async_shared_cta, {});
}

Value* Emitter::first_program() { return intrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {}); }

void Emitter::finish_program(const ir::Op& store) {
  if (!number_ || !program_block_) return;
  const auto own = [&](const ir::Op& op) { return &op == &store; };
  if (std::none_of(program_block_->ops.begin(), program_block_->ops.end(), own)) return;
  Value* number = opaque(b, number_);
  at_program(number);
  number_ = nullptr;
  none_ = b.CreateZExt(b.CreateLShr(number, 31), b.getInt64Ty());
}

// ir::program_at, for what this kernel asks of it.
void Emitter::at_program(Value* number) {
  number_ = number;
  none_ = nullptr;
  programs_.assign(kernel.grid.size(), nullptr);
  const auto counts_planned = [&](std::size_t i) {
    return kernel.whole_extent(kernel.grid[i]) ||
           std::find(slots.begin(), slots.end(), Slot{.kind = SlotKind::length, .axis = kernel.grid[i]}) != slots.end();
  };
  const auto count = [&](std::size_t i) {
    Value* tokens = length(kernel.grid[i]);
    if (const ir::AxisOrder* cut = kernel.grid_order(i)) {  // as Order::tiles counts
      const ir::OrderDigit& first = cut->order.digits[0];
      const auto weight = static_cast<int>(first.weight);
      Value* tiles =
          b.CreateUDiv(b.CreateAdd(tokens, i32(weight * (first.origin + first.tile) - 1)), i32(weight * first.tile));
      for (std::size_t d = 1; d < cut->order.digits.size(); ++d)
        tiles = b.CreateMul(tiles, i32(static_cast<int>(cut->order.tiles(d, 0))));
      return tiles;
    }
    const int tile = kernel.grid_tiles[i].extent;
    return tile == 1 ? tokens : b.CreateUDiv(b.CreateAdd(tokens, i32(tile - 1)), i32(tile));
  };
  Value* rest = number;
  std::size_t first = 0;
  if (kernel.order.section > 0 && counts_planned(0)) {
    Value* tiles = count(0);
    Value* section = i32(kernel.order.section);
    Value* begin = b.CreateMul(b.CreateUDiv(number, b.CreateMul(tiles, section)), section);
    Value* within = b.CreateSub(number, b.CreateMul(begin, tiles));
    Value* others = b.CreateUDiv(slot({.kind = SlotKind::programs}), tiles);
    Value* turns = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, section, b.CreateSub(others, begin));
    programs_[0] = b.CreateUDiv(within, turns);
    rest = b.CreateAdd(begin, b.CreateURem(within, turns));
    first = 1;
  }
  for (std::size_t i = first; i < kernel.grid.size(); ++i) {
    if (i + 1 == kernel.grid.size()) {
      programs_[i] = rest;
      break;
    }
    if (!counts_planned(i)) return;  // then nothing asks for the program's index
    programs_[i] = b.CreateURem(rest, count(i));
    rest = b.CreateUDiv(rest, count(i));
  }
  if (kernel.order.descending && counts_planned(0))
    programs_[0] = b.CreateSub(b.CreateSub(count(0), i32(1)), programs_[0]);
}

Value* Emitter::stride(int param, int dim) {
  Value* elements = slot({.kind = SlotKind::stride, .param = param, .dim = dim});
  return none_ ? b.CreateAdd(elements, none_) : elements;
}

Value* Emitter::program(ir::Axis grid_axis) {
  const auto at = std::find(kernel.grid.begin(), kernel.grid.end(), grid_axis);
  if (at == kernel.grid.end()) throw InternalError(grid_axis.name() + " is no grid axis");
  Value* index = programs_[static_cast<std::size_t>(at - kernel.grid.begin())];
  if (!index) throw InternalError("the index along " + grid_axis.name() + " was not planned for");
  return index;
}

Value* Emitter::length(ir::Axis axis) {
  if (const ir::Dim* whole = kernel.whole_extent(axis)) return i32(whole->extent);
  return slot({.kind = SlotKind::length, .axis = axis});
}

Value* Emitter::slot(const Slot& s) const {
  const auto at = std::find(slots.begin(), slots.end(), s);
  if (at == slots.end()) throw InternalError("slot " + parameter_name(kernel, s) + " was not planned for");
  return function->getArg(static_cast<unsigned>(at - slots.begin()));
}

Bound& Emitter::operator[](ir::Value v) {
  Bound& bound = bound_.at(v.id);
  if (bound.regs.empty() && !bound.ring)
    throw InternalError("%" + std::to_string(v.id) + " is used before its definition");
  return bound;
}

Value* Emitter::zero() {
  if (!zero_)
    zero_ = new llvm::GlobalVariable(*module, b.getInt32Ty(), true, llvm::GlobalValue::InternalLinkage, b.getInt32(0),
                                     "zero", nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  return zero_;
}

Value* Emitter::shared(Value* offset) { return b.CreateGEP(b.getInt8Ty(), memory_, offset); }

Value* Emitter::shared_address(Value* offset) { return b.CreateAdd(b.CreatePtrToInt(memory_, b.getInt32Ty()), offset); }

llvm::CallInst* Emitter::intrinsic(unsigned id, const Values& arguments, const std::vector<llvm::Type*>& overloads) {
  return b.CreateCall(llvm::Intrinsic::getOrInsertDeclaration(module.get(), id, overloads), arguments);
}

llvm::BasicBlock* Emitter::block(const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); }

void Emitter::loop_back(Value* condition, llvm::BasicBlock* body, llvm::BasicBlock* end) {
  llvm::LLVMContext& c = b.getContext();
  llvm::MDNode* disable = llvm::MDNode::get(c, {llvm::MDString::get(c, "llvm.loop.unroll.disable")});
  llvm::MDNode* loop = llvm::MDNode::getDistinct(c, {nullptr, disable});
  loop->replaceOperandWith(0, loop);
  b.CreateCondBr(condition, body, end)->setMetadata(llvm::LLVMContext::MD_loop, loop);
}

void Emitter::sync_scope() {
  if (!scope.group) {
    intrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {i32(0)});
    return;
  }
  intrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_count,
            {b.CreateAdd(scope.area, i32(1)), i32(scope.warps * 32)});
}

const std::vector<int>& Emitter::registers(const ir::Type& result, const ir::Type& operand) {
  const auto key = std::make_pair<const void*, const void*>(result.layout.get(), operand.layout.get());
  auto& map = maps_[key];
  if (map.empty()) map = register_map(result, operand);
  return map;
}

std::vector<ir::Value> Emitter::emit(const ir::Block& code) {
  for (const ir::Op& op : code.ops) {
    if (op.code == ir::OpCode::yield) return op.operands;
    if (debug_) debug_->set(b, op.loc);
    emit(op);
  }
  return {};
}

Emitted emit(const ir::Kernel& placed, const Target& target, const EmitOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  llvm::LLVMContext context;
  Emitter emitter(context, placed, target, options);
  const std::unique_ptr<llvm::Module> module = emitter.run();
  Generated generated = generate(*module, target);
  Emitted result;
  result.artifact = {.entry = placed.name,
                     .target = target.name,
                     .ptx = std::move(generated.ptx),
                     .threads = placed.threads,
                     .blocks = placed.blocks,
                     .persistent = emitter.plan.mailbox.has_value(),
                     .shared_bytes = emitter.plan.total,
                     .slots = emitter.slots,
                     .grid = placed.grid_tiles};
  result.llvm_ir = std::move(generated.llvm_ir);
  result.llvm_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace tessera::backend
