#include <tessera/backend/emit/debug_info.h>

#include <filesystem>

#include <llvm/IR/Module.h>

namespace tessera::backend {

DebugInfo::DebugInfo(llvm::Module& module, llvm::Function& function, SourceLoc first)
    : builder_(module), last_(first ? first : SourceLoc{"unknown", 1}) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  llvm::DIFile* home = file(last_.file);
  builder_.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C_plus_plus_14), home, "tessera", true, "",
                             0, "", llvm::DICompileUnit::DebugDirectivesOnly);
  llvm::DISubroutineType* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  const auto line = static_cast<unsigned>(last_.line);
  subprogram_ = builder_.createFunction(home, function.getName(), function.getName(), home, line, type, line,
                                        llvm::DINode::FlagPrototyped, llvm::DISubprogram::SPFlagDefinition);
  function.setSubprogram(subprogram_);
  scopes_[last_.file] = subprogram_;
}

void DebugInfo::set(llvm::IRBuilderBase& b, SourceLoc loc) {
  if (loc) last_ = loc;
  llvm::DIScope*& scope = scopes_[last_.file];
  if (!scope) scope = builder_.createLexicalBlockFile(subprogram_, file(last_.file));
  b.SetCurrentDebugLocation(llvm::DILocation::get(b.getContext(), static_cast<unsigned>(last_.line), 0,
                                                  llvm::cast<llvm::DILocalScope>(scope)));
}

llvm::DIFile* DebugInfo::file(const char* path) {
  const std::filesystem::path p(path);
  return builder_.createFile(p.filename().string(), p.parent_path().string());
}

}  // namespace tessera::backend
