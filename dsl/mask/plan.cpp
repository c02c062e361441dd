#include <tessera/dsl/mask/plan.h>

#include <fmt/format.h>

namespace tessera::mask {

namespace {

// Programs of one number compute one query tile, whatever list they ask.
bool same_places(const TileList& a, const TileList& b) {
  bool same = a.rows.size() == b.rows.size() && a.class_of == b.class_of;
  for (std::size_t i = TileList::kFields - 1; same && i < a.rows.size(); i += TileList::kFields)
    same = a.rows[i] == b.rows[i];
  return same;
}

std::string unsupported(const Plan& plan) {
  if (plan.passes.size() != 1) return fmt::format("{} passes, each of which has a kernel", plan.passes.size());
  const Pass& pass = plan.passes[0];
  if (pass.sources.empty()) return "a pass without key sources";
  if (const std::string why = why_no_order(pass.queries); !why.empty())
    return fmt::format("a query order {}: {}", to_string(pass.queries), why);
  const TileList* first = nullptr;
  for (const Source& source : pass.sources) {
    if (const std::string why = why_no_order(source.keys); !why.empty())
      return fmt::format("a key order {}: {}", to_string(source.keys), why);
    if (source.anchor == Anchor::row) return "key tiles that start where a query tile's keys do, not on a grid";
    const auto* list = std::get_if<TileList>(&source.schedule);
    if (list && first && !same_places(*list, *first)) return "lists that take query tiles in different orders";
    if (list && !first) first = list;
  }
  return {};
}

}  // namespace

void check_supported(const Plan& plan) {
  if (const std::string reason = unsupported(plan); !reason.empty()) throw InternalError("a plan has " + reason);
}

}  // namespace tessera::mask
