#include <tessera/library/attention.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tessera/dsl/ir/print.h>
#include <tessera/library/at_line.h>
#include <tessera/library/attention_impl.h>
#include <tessera/library/disassemble.h>

namespace tessera {

using library::at_line;

namespace {

std::string cubin_of(const library::Built& built) {
  const runtime::Image& image = built.program.image();
  if (image.kind == runtime::Image::Kind::cubin) return image.bytes;
  throw UserError({}, "there is no cubin: the driver assembles when the kernel is loaded (" + image.why_no_cubin + ")",
                  "install ptxas of CUDA 12.8 or newer, or name it in TESSERA_PTXAS");
}

}  // namespace

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
  return at_line(loc, [&] {
    std::string text;
    for (const ir::Kernel& kernel : impl_->kernels(stage)) text += ir::print(kernel);
    return text;
  });
}

std::string Attention::llvm_ir(SourceLoc loc) const {
  return at_line(loc, [&] { return fmt::format("{}", fmt::join(impl_->llvm_texts(), "\n")); });
}

std::string Attention::ptx(SourceLoc loc) const {
  return at_line(loc, [&] {
    std::string text;
    for (const auto& built : impl_->built_last()) text += built->artifact.ptx;
    return text;
  });
}

std::string Attention::cubin(SourceLoc loc) const {
  return at_line(loc, [&] {
    const auto built = impl_->built_last();
    if (built.size() > 1)
      throw UserError({}, fmt::format("the plan is a chain of {} passes, each of which has a cubin", built.size()),
                      "ask for sass(), or set query_tile and key_tile for a plan of one pass");
    return cubin_of(*built[0]);
  });
}

std::string Attention::sass(SourceLoc loc) const {
  return at_line(loc, [&] {
    std::string text;
    for (const auto& built : impl_->built_last()) text += library::disassemble(cubin_of(*built));
    return text;
  });
}

int Attention::compiles() const { return impl_->compiles(); }

}  // namespace tessera
