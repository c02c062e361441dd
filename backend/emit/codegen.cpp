#include <tessera/backend/emit/codegen.h>

#include <mutex>
#include <optional>

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

#include <tessera/dsl/diagnostics.h>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace tessera::backend {

namespace {

constexpr const char* kTriple = "nvptx64-nvidia-cuda";

// Pointers to shared memory have 32 bits: a producer warp with 24 registers cannot spare two for each. An option of the
// process, but of this library's own LLVM, which nobody else can reach.
void use_short_pointers() {
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("nvptx-short-ptr");
  if (found == options.end()) throw InternalError("this LLVM has no option nvptx-short-ptr");
  static_cast<llvm::cl::opt<bool>*>(found->second)->setValue(true);
}

std::unique_ptr<llvm::TargetMachine> make_machine(const Target& target) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    use_short_pointers();
  });
  const llvm::Triple triple(kTriple);
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) throw InternalError("LLVM has no NVPTX target: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Fast;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(triple, target.name, target.ptx_features,
                                                                          options, llvm::Reloc::PIC_, std::nullopt,
                                                                          llvm::CodeGenOptLevel::Aggressive));
  if (!machine) throw InternalError("LLVM has no machine for " + target.name);
  return machine;
}

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

// The module is scalar SSA already, its loops are rotated and its products unrolled: what is left is to find what is
// computed twice and what a loop need not repeat. ptxas does the scheduling and the allocation; the full pipeline costs
// more time and gave slower kernels.
void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::InstCombinePass());
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), /*UseMemorySSA=*/true));
  passes.addPass(llvm::EarlyCSEPass());
  passes.addPass(llvm::ADCEPass());
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) passes.run(function, functions);
}

}  // namespace

void set_target(llvm::Module& module, const Target& target) {
  module.setTargetTriple(llvm::Triple(kTriple));
  module.setDataLayout(make_machine(target)->createDataLayout());
}

Generated generate(llvm::Module& module, const Target& target) {
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (llvm::verifyModule(module, &stream)) throw InternalError("LLVM refuses the module: " + error, text_of(module));
  std::unique_ptr<llvm::TargetMachine> machine = make_machine(target);
  optimise(module, *machine);
  Generated result;
  result.llvm_ir = text_of(module);
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream out(ptx);
  llvm::legacy::PassManager codegen;
  if (machine->addPassesToEmitFile(codegen, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw InternalError("LLVM cannot print PTX for " + target.name);
  codegen.run(module);
  result.ptx = std::string(ptx.str());
  return result;
}

}  // namespace tessera::backend
