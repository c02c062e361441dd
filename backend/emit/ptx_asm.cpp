#include <tessera/backend/emit/ptx_asm.h>

#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>

namespace tessera::backend {

using llvm::Value;
using Values = std::vector<Value*>;

namespace {

llvm::CallInst* call_asm(llvm::IRBuilderBase& b, llvm::Type* result, const std::string& text,
                         const std::string& constraints, const Values& arguments, bool effects) {
  std::vector<llvm::Type*> types;
  for (Value* v : arguments) types.push_back(v->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::CallInst* call = b.CreateCall(llvm::InlineAsm::get(type, text, constraints, effects), arguments);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  if (effects) {
    call->addFnAttr(llvm::Attribute::Convergent);
  } else {  // and may be left out
    call->setDoesNotAccessMemory();
    call->addFnAttr(llvm::Attribute::WillReturn);
  }
  return call;
}

// The results of a call with several outputs, as scalars.
Values call_outputs(llvm::IRBuilderBase& b, const std::vector<llvm::Type*>& types, const std::string& text,
                    const std::string& constraints, const Values& arguments) {
  if (types.size() == 1) return {call_asm(b, types[0], text, constraints, arguments, true)};
  Value* all = call_asm(b, llvm::StructType::get(b.getContext(), types), text, constraints, arguments, true);
  Values results;
  for (unsigned i = 0; i < types.size(); ++i) results.push_back(b.CreateExtractValue(all, i));
  return results;
}

std::string list(int first, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += fmt::format("{}${}", i ? ", " : "", first + i);
  return text + "}";
}

}  // namespace

Values product_step(llvm::IRBuilderBase& b, const ProductStep& step) {
  const int outputs = step.n / 2;
  const bool from_registers = !step.a_registers.empty();
  std::string constraints;
  for (int i = 0; i < outputs; ++i) constraints += "=f,";
  Values arguments = from_registers ? step.a_registers : Values{step.a_descriptor};
  constraints += from_registers ? "r,r,r,r,l" : "l,l";
  const std::string a = from_registers ? list(outputs, 4) : fmt::format("${}", outputs);
  const std::string b_operand = fmt::format("${}", outputs + static_cast<int>(arguments.size()));
  arguments.push_back(step.b_descriptor);
  for (std::size_t i = 0; i < step.accumulator.size(); ++i) constraints += fmt::format(",{}", i);
  arguments.insert(arguments.end(), step.accumulator.begin(), step.accumulator.end());
  const std::string transposes = from_registers ? fmt::format("{}", int{step.b_transposed})
                                                : fmt::format("{}, {}", int{step.a_transposed}, int{step.b_transposed});
  const std::string text = fmt::format(
      "{{ .reg .pred p; setp.ne.b32 p, {}, 0; wgmma.mma_async.sync.aligned.m64n{}k16.f32.{}.{} {}, {}, {}, p, 1, 1, "
      "{}; }}",
      step.accumulator.empty() ? 0 : 1, step.n, step.dtype, step.dtype, list(0, outputs), a, b_operand, transposes);
  return call_outputs(b, std::vector<llvm::Type*>(outputs, b.getFloatTy()), text, constraints, arguments);
}

Values wait_products(llvm::IRBuilderBase& b, int pending, const Values& values) {
  const std::string text = fmt::format("wgmma.wait_group.sync.aligned {};", pending);
  if (values.empty()) {
    call_asm(b, b.getVoidTy(), text, "~{memory}", {}, true);
    return {};
  }
  std::vector<llvm::Type*> types;
  std::string constraints;
  for (Value* v : values) {
    types.push_back(v->getType());
    constraints += v->getType()->isFloatTy() ? "=f," : "=r,";
  }
  for (std::size_t i = 0; i < values.size(); ++i) constraints += fmt::format("{},", i);
  return call_outputs(b, types, text, constraints + "~{memory}", values);
}

void barrier_wait(llvm::IRBuilderBase& b, Value* barrier, Value* parity) {
  call_asm(b, b.getVoidTy(),
           "{ .reg .pred P; W_${:uid}: mbarrier.try_wait.parity.shared::cta.b64 P, [$0], $1; @P bra D_${:uid}; "
           "bra W_${:uid}; D_${:uid}: }",
           "r,r,~{memory}", {barrier, parity}, true);
}

void barrier_arrive_if(llvm::IRBuilderBase& b, Value* barrier, Value* predicate) {
  call_asm(b, b.getVoidTy(), "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}", {barrier, predicate},
           true);
}

Value* opaque(llvm::IRBuilderBase& b, Value* word) {
  return call_asm(b, b.getInt32Ty(), "mov.b32 $0, $1;", "=r,r", {word}, true);
}

Value* shift_left(llvm::IRBuilderBase& b, Value* word, Value* places) {
  return call_asm(b, b.getInt32Ty(), "shl.b32 $0, $1, $2;", "=r,r,r", {word, places}, false);
}

}  // namespace tessera::backend
