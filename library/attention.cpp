#include <tessera/library/attention.h>

#include <fmt/format.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/library/at_line.h>
#include <tessera/library/attention_impl.h>
#include <tessera/library/disassemble.h>

namespace tessera {

using library::at_line;

Attention::Attention(AttentionOptions options, SourceLoc loc)
    : impl_(at_line(loc, [&] { return std::make_unique<Impl>(std::move(options), loc); })) {}

Attention::~Attention() = default;
Attention::Attention(Attention&&) noexcept = default;
Attention& Attention::operator=(Attention&&) noexcept = default;

void Attention::prepare(const AttentionShapes& shapes, SourceLoc loc) {
  at_line(loc, [&] { impl_->prepare(shapes, loc); });
}

void Attention::operator()(const AttentionCall& call, SourceLoc loc) {
  at_line(loc, [&] { impl_->call(call, loc); });
}

std::string Attention::explain(SourceLoc loc) const {
  return at_line(loc, [&] { return library::to_text(impl_->explanation()); });
}

std::string Attention::explain_json(SourceLoc loc) const {
  return at_line(loc, [&] { return library::to_json(impl_->explanation()); });
}

std::string Attention::ir(ir::Stage stage, SourceLoc loc) const {
  return at_line(loc, [&] { return ir::print(impl_->kernel(stage)); });
}

std::string Attention::llvm_ir(SourceLoc loc) const {
  return at_line(loc, [&] { return impl_->compiled_texts().llvm_ir; });
}

std::string Attention::ptx(SourceLoc loc) const {
  return at_line(loc, [&] { return impl_->built_last()->artifact.ptx; });
}

std::string Attention::cubin(SourceLoc loc) const {
  return at_line(loc, [&] {
    const auto built = impl_->built_last();
    const runtime::Image& image = built->program.image();
    if (image.kind == runtime::Image::Kind::cubin) return image.bytes;
    throw UserError({},
                    "there is no cubin: the driver assembles when the kernel is loaded (" + image.why_no_cubin + ")",
                    "install ptxas of CUDA 12.8 or newer, or name it in TESSERA_PTXAS");
  });
}

std::string Attention::sass(SourceLoc loc) const {
  return at_line(loc, [&] { return library::disassemble(cubin(loc)); });
}

int Attention::compiles() const { return impl_->compiles(); }

}  // namespace tessera
