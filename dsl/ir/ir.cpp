#include <tessera/dsl/ir/ir.h>

#include <algorithm>

namespace tessera::ir {

namespace {
constexpr unsigned T = 1u << static_cast<int>(Stage::traced);
constexpr unsigned I = 1u << static_cast<int>(Stage::tiled);
constexpr unsigned P = 1u << static_cast<int>(Stage::placed);

constexpr OpInfo kOps[] = {
#define TESSERA_OP(name, operands, kind, stages) {#name, operands, OpKind::kind, stages},
#include <tessera/dsl/ir/ops.def>
#undef TESSERA_OP
};
}  // namespace

const OpInfo& info(OpCode code) { return kOps[static_cast<int>(code)]; }

bool is_elementwise(OpCode code) {
  OpKind kind = info(code).kind;
  return kind == OpKind::unary || kind == OpKind::binary || kind == OpKind::compare || kind == OpKind::ternary;
}

bool has_region(OpCode code) {
  switch (code) {
    case OpCode::loop:
    case OpCode::over:
    case OpCode::when:
    case OpCode::programs:
    case OpCode::role: return true;
    default: return false;
  }
}

bool has_effect(const Op& op) {
  if (op.code == OpCode::store || op.code == OpCode::yield || info(op.code).kind == OpKind::placed) return true;
  for (const Block& region : op.regions) {
    auto effect = [](const Op& inner) { return inner.code != OpCode::yield && has_effect(inner); };
    if (std::any_of(region.ops.begin(), region.ops.end(), effect)) return true;
  }
  return false;
}

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::traced: return "traced";
    case Stage::tiled: return "tiled";
    case Stage::placed: return "placed";
  }
  throw InternalError("unknown stage");
}

Value Graph::add_value(Type type, std::string name) {
  values.push_back({std::move(type), std::move(name)});
  return {static_cast<std::uint32_t>(values.size() - 1)};
}

const Dim* Kernel::whole_extent(Axis axis) const {
  auto it = std::find_if(whole.begin(), whole.end(), [&](const Dim& d) { return d.axis == axis; });
  return it == whole.end() ? nullptr : &*it;
}

const AxisOrder* Kernel::grid_order(std::size_t grid_axis) const {
  const int number = grid_orders.empty() ? -1 : grid_orders[grid_axis];
  return number < 0 ? nullptr : &orders[static_cast<std::size_t>(number)];
}

std::int64_t Kernel::grid_count(std::size_t grid_axis, std::int64_t length) const {
  if (const AxisOrder* cut = grid_order(grid_axis)) return cut->order.tiles(length);
  const std::int64_t tile = grid_tiles[grid_axis].extent;
  return (length + tile - 1) / tile;
}

Axis query_axis(const Kernel& kernel) {
  static const Axis query = Axis::named("Query");
  const auto on_grid = [&](Axis axis) {
    return std::find(kernel.grid.begin(), kernel.grid.end(), axis) != kernel.grid.end();
  };
  if (on_grid(query)) return query;
  for (Axis axis : kernel.grid) {
    const auto lists = [axis](const Param& p) { return std::find(p.axes.begin(), p.axes.end(), axis) != p.axes.end(); };
    if (std::any_of(kernel.params.begin(), kernel.params.end(), lists)) return axis;
  }
  return {};
}

namespace {
void collect(const Block& block, std::vector<const Op*>& producers) {
  for (const Op& op : block.ops) {
    for (Value v : op.results) producers[v.id] = &op;
    for (const Block& region : op.regions) collect(region, producers);
  }
}
}  // namespace

std::vector<const Op*> definitions(const Graph& graph) {
  std::vector<const Op*> producers(graph.values.size(), nullptr);
  collect(graph.entry, producers);
  return producers;
}

}  // namespace tessera::ir
