#include <tessera/backend/passes/take_programs.h>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

Kernel take_programs(const Kernel& kernel) {
  Kernel out = like(kernel);
  Builder into(out, out.entry);
  Rewriter rewriter(kernel, out, {});
  into.programs({}, {}, [&](Builder& body, std::span<const Value>) {
    rewriter.block(kernel.entry, body);
    return std::vector<Value>();
  });
  return out;
}

}  // namespace tessera::backend
