#include <tessera/dsl/mask/plan.h>

#include <fmt/format.h>

namespace tessera::mask {

int Order::tile() const {
  int tokens = 1;
  for (const OrderDigit& digit : digits) tokens *= digit.tile;
  return tokens;
}

std::string to_string(const Order& order) {
  std::vector<std::string> digits;
  for (const OrderDigit& d : order.digits)
    digits.push_back(fmt::format("{}:{}", d.weight, d.tile) + (d.origin ? fmt::format("-{}", d.origin) : ""));
  return fmt::format("[{}]", fmt::join(digits, ", "));
}

namespace {

std::string unsupported(const Plan& plan) {
  if (plan.passes.size() != 1) return fmt::format("{} passes, which are chained by no kernel yet", plan.passes.size());
  const Pass& pass = plan.passes[0];
  if (pass.sources.size() != 1)
    return fmt::format("{} key sources, which no kernel walks in one pass yet", pass.sources.size());
  if (pass.sources[0].part) return "a source of a part of the predicate, which no kernel takes by itself yet";
  if (pass.sources[0].anchor == Anchor::row) return "key tiles that start where a query tile's keys do, not on a grid";
  for (const auto& [side, order] : {std::pair{"query", &pass.queries}, {"key", &pass.sources[0].keys}})
    if (order->digits.size() != 1 || order->digits[0].weight != 1 || order->digits[0].origin != 0)
      return fmt::format("a {} order {}, where tiles are runs of consecutive tokens yet", side, to_string(*order));
  return {};
}

}  // namespace

void check_supported(const Plan& plan) {
  if (const std::string reason = unsupported(plan); !reason.empty()) throw InternalError("a plan has " + reason);
}

}  // namespace tessera::mask
