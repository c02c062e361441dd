#include <tessera/backend/schedule.h>

#include <algorithm>

#include <tessera/backend/layouts.h>

namespace tessera::backend {

namespace {
constexpr int kGroupRows = 64, kMostGroups = 3, kMostStages = 8;
}

std::string to_string(const Schedule& s) {
  return "warpgroups " + std::to_string(s.warpgroups) + ", stages " + std::to_string(s.stages);
}

Schedule resolve(Schedule wanted, const ir::Kernel& tiled, const Target& target) {
  const LayoutRule rule(tiled);
  if (rule.has_products() && !target.has_warpgroup_products)
    throw UserError({}, "target " + target.name + " has no warpgroup matrix products", "compile for sm_90a");
  if (wanted.stages < 1 || wanted.stages > kMostStages)
    throw UserError({}, "a schedule of " + std::to_string(wanted.stages) + " stages",
                    "use 1 to " + std::to_string(kMostStages));
  if (!rule.has_products()) {
    wanted.warpgroups = 1;
    return wanted;
  }
  const int groups = rule.row().extent / kGroupRows;
  if (wanted.warpgroups == 0) wanted.warpgroups = groups;
  if (wanted.warpgroups != groups)
    throw UserError({},
                    "a schedule of " + std::to_string(wanted.warpgroups) + " warpgroups for a tile of " +
                        std::to_string(rule.row().extent) + " rows",
                    "each warpgroup computes 64 rows: use " + std::to_string(groups));
  if (groups > kMostGroups)
    throw UserError({}, "a tile of " + std::to_string(rule.row().extent) + " rows along " + rule.row().axis.name(),
                    "the registers of a multiprocessor are enough for 192: choose 64, 128 or 192");
  return wanted;
}

TileShape default_tile(int head_dim, int value_dim, const Target&) {
  // Q, and two stages of K and V, must fit in shared memory; O, S and P in the registers of two warpgroups.
  return std::max(head_dim, value_dim) <= 128 ? TileShape{128, 128} : TileShape{128, 64};
}

}  // namespace tessera::backend
