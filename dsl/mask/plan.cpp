#include <tessera/dsl/mask/plan.h>

#include <fmt/format.h>

namespace tessera::mask {

namespace {

std::string unsupported(const Plan& plan) {
  if (plan.passes.size() != 1) return fmt::format("{} passes, which are chained by no kernel yet", plan.passes.size());
  const Pass& pass = plan.passes[0];
  if (pass.sources.empty()) return "a pass without key sources";
  if (const std::string why = why_no_order(pass.queries); !why.empty())
    return fmt::format("a query order {}: {}", to_string(pass.queries), why);
  for (const Source& source : pass.sources)
    if (const std::string why = why_no_order(source.keys); !why.empty())
      return fmt::format("a key order {}: {}", to_string(source.keys), why);
  return {};
}

}  // namespace

void check_supported(const Plan& plan) {
  if (const std::string reason = unsupported(plan); !reason.empty()) throw InternalError("a plan has " + reason);
}

}  // namespace tessera::mask
