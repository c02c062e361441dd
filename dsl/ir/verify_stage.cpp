#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include <tessera/dsl/ir/layout.h>
#include <tessera/dsl/ir/typing.h>
#include <tessera/dsl/ir/verify.h>

namespace tessera::ir {

namespace {

constexpr int kLanes = 32;
constexpr int kWarps = 4;
constexpr int kThreads = kLanes * kWarps;  // of a warpgroup: what a layout distributes a tile over

std::string extent_reason(const Type& type, Stage stage) {
  for (const Dim& d : type.dims) {
    if (stage == Stage::traced && d.extent) return fmt::format("binds axis {} to {} elements", d.axis.name(), d.extent);
    if (stage != Stage::traced && d.extent <= 0) return fmt::format("leaves axis {} without an extent", d.axis.name());
  }
  return {};
}

// The layout distributes the whole tile, and nothing but the tile, over the threads of a warpgroup.
std::string layout_reason(const Type& type) {
  if (type.is_scalar()) return type.layout ? "a scalar has a layout" : "";
  if (!type.layout) return fmt::format("{} has no layout", to_string(type));
  const Layout& layout = *type.layout;
  if (layout.size(Part::lane) != kLanes || layout.size(Part::warp) != kWarps) {
    return fmt::format("{} is laid out over {} lanes and {} warps, must be {} and {}", to_string(type),
                       layout.size(Part::lane), layout.size(Part::warp), kLanes, kWarps);
  }
  std::vector<int> last(type.dims.size(), 0);
  for (Part part : {Part::reg, Part::lane, Part::warp}) {
    for (const Digit& digit : layout.digits(part)) {
      if (!digit.axis) continue;
      const Dim* dim = type.find(digit.axis);
      if (!dim) return fmt::format("{} is laid out along {}, which it lacks", to_string(type), digit.axis.name());
      last[dim - type.dims.data()] += (digit.size - 1) * digit.step;
    }
  }
  for (std::size_t i = 0; i < last.size(); ++i) {
    if (last[i] + 1 == type.dims[i].extent) continue;
    return fmt::format("the layout of {} reaches {} elements of axis {}, must reach {}", to_string(type), last[i] + 1,
                       type.dims[i].axis.name(), type.dims[i].extent);
  }
  return {};
}

class StageVerifier {
 public:
  StageVerifier(const Kernel& kernel, Stage stage) : kernel_(kernel), stage_(stage), in_flight_(kernel.values.size()) {}

  std::string run() {
    std::string reason = attributes();
    if (reason.empty()) reason = block(kernel_.entry, true);
    if (reason.empty() && !issued_.empty()) reason = "the kernel ends with a product in flight";
    return reason;
  }

 private:
  // A product that no mma_wait covers yet.
  struct Product {
    std::int64_t group;
    Value left;  // in registers, or no value
  };

  std::string attributes() const {
    if (stage_ == Stage::traced) {
      if (!kernel_.grid_tiles.empty()) return "a traced kernel has grid tiles";
    } else {
      if (kernel_.grid_tiles.size() != kernel_.grid.size()) {
        return fmt::format("the grid has {} axes but {} tile extents", kernel_.grid.size(), kernel_.grid_tiles.size());
      }
      for (std::size_t i = 0; i < kernel_.grid.size(); ++i) {
        const Dim& tile = kernel_.grid_tiles[i];
        if (tile.axis != kernel_.grid[i]) {
          return fmt::format("grid tile {} is of {}, must be of {}", i, tile.axis.name(), kernel_.grid[i].name());
        }
        if (tile.extent < 1) return fmt::format("grid axis {} has a tile of {}", tile.axis.name(), tile.extent);
      }
    }
    if (std::string reason = orders(); !reason.empty()) return reason;
    return stage_ == Stage::placed ? threads() : std::string();
  }

  std::string orders() const {
    if (stage_ == Stage::traced && !kernel_.orders.empty()) return "a traced kernel has token orders";
    for (const AxisOrder& cut : kernel_.orders) {
      if (std::string reason = why_no_order(cut.order); !reason.empty())
        return fmt::format("{} is no order: {}", to_string(cut.order), reason);
      if (!cut.axis || cut.rows < cut.order.tile())
        return fmt::format("tiles of order {} have {} rows", to_string(cut.order), cut.rows);
    }
    if (kernel_.grid_orders.empty()) return {};
    if (kernel_.grid_orders.size() != kernel_.grid.size())
      return fmt::format("the grid has {} axes but {} orders", kernel_.grid.size(), kernel_.grid_orders.size());
    for (std::size_t i = 0; i < kernel_.grid.size(); ++i) {
      const int number = kernel_.grid_orders[i];
      if (number >= static_cast<int>(kernel_.orders.size()))
        return fmt::format("grid axis {} refers to order {} of {}", kernel_.grid[i].name(), number,
                           kernel_.orders.size());
      const AxisOrder* cut = kernel_.grid_order(i);
      if (cut && (cut->axis != kernel_.grid[i] || cut->rows != kernel_.grid_tiles[i].extent))
        return fmt::format("grid axis {} has tiles of {}, its order has {}:{}", kernel_.grid[i].name(),
                           kernel_.grid_tiles[i].extent, cut->axis.name(), cut->rows);
    }
    return {};
  }

  std::string threads() const {
    int groups = std::accumulate(kernel_.roles.begin(), kernel_.roles.end(), 0,
                                 [](int sum, const Role& role) { return sum + role.warpgroups; });
    int wanted = std::max(groups, 1) * kThreads;
    if (kernel_.threads == wanted) return {};
    return fmt::format("the kernel has {} threads, but its roles need {}", kernel_.threads, wanted);
  }

  std::string block(const Block& block, bool top) {
    for (const Op& op : block.ops) {
      std::string reason = op_reason(op, top);
      for (std::size_t i = 0; reason.empty() && i < op.regions.size(); ++i) {
        const std::size_t outer = std::exchange(outer_, issued_.size());
        if (std::string inner = this->block(op.regions[i], false); !inner.empty()) return inner;
        if (issued_.size() > outer_)
          reason = "its region ends with a product in flight, which nothing outside can wait for";
        outer_ = outer;
      }
      if (!reason.empty()) {
        return fmt::format("op '{}'{}: {}", info(op.code).name, op.loc ? " at " + to_string(op.loc) : "", reason);
      }
    }
    return {};
  }

  std::string op_reason(const Op& op, bool top) {
    if (!(info(op.code).stages & (1u << static_cast<int>(stage_)))) {
      return fmt::format("is not an op of stage {}", to_string(stage_));
    }
    std::vector<Value> defined = op.results;
    for (const Block& region : op.regions) defined.insert(defined.end(), region.args.begin(), region.args.end());
    for (Value v : defined) {
      const Type& type = kernel_.type(v);
      bool handle = type.kind == TypeKind::index;
      if (handle && stage_ != Stage::traced && op.code != OpCode::tile_at) return "handles a symbolic tile";
      if (std::string reason = handle ? "" : extent_reason(type, stage_); !reason.empty()) return reason;
      if (stage_ != Stage::placed && type.layout)
        return fmt::format("{} has a layout before stage placed", to_string(type));
      if (stage_ != Stage::placed || type.kind != TypeKind::tile) continue;
      if (std::string reason = layout_reason(type); !reason.empty()) return reason;
    }
    return stage_ == Stage::placed ? placed_reason(op, top) : std::string();
  }

  std::string placed_reason(const Op& op, bool top) {
    if (op.code == OpCode::role && !top) return "is not at the top of the entry block";
    if (op.code == OpCode::alloc && !top) return "is not at the top of the entry block";
    for (std::size_t i = 0; i < op.operands.size(); ++i) {
      if (!in_flight_[op.operands[i].id]) continue;
      bool accumulates = op.code == OpCode::mma && i == 2;
      if (op.code != OpCode::mma_wait && !accumulates) return "uses a product that no mma_wait has waited for";
    }
    if (op.code == OpCode::mma) in_flight_[op.results[0].id] = true;
    const std::string reason = products(op);
    return reason.empty() ? agreement(op) : reason;
  }

  // A product reads its left operand from registers until it is waited for. The wait that covers it lists the operand,
  // so that its registers are in use until then; and it is in the same block, for its groups to be countable.
  std::string products(const Op& op) {
    if (op.code == OpCode::mma) {
      const Value left = op.operands[0];
      issued_.push_back({committed_ + 1, kernel_.type(left).kind == TypeKind::tile ? left : Value{}});
    }
    if (op.code == OpCode::mma_commit) ++committed_;
    if (op.code != OpCode::mma_wait) return {};
    std::size_t covered = 0;
    for (; covered < issued_.size() && issued_[covered].group <= committed_ - op.index; ++covered) {
      const Value left = issued_[covered].left;
      if (covered < outer_) return "covers a product that was issued outside of its block";
      if (!left || std::find(op.operands.begin(), op.operands.end(), left) != op.operands.end()) continue;
      const std::string& name = kernel_.name_of(left);
      return fmt::format("covers a product whose left operand {} is in registers, but does not list it",
                         name.empty() ? to_string(kernel_.type(left)) : "%" + name);
    }
    issued_.erase(issued_.begin(), issued_.begin() + static_cast<std::ptrdiff_t>(covered));
    return {};
  }

  // A thread finds what it needs in its own registers.
  std::string agreement(const Op& op) const {
    bool local = is_elementwise(op.code) || op.code == OpCode::broadcast || op.code == OpCode::gather;
    bool reduces = info(op.code).kind == OpKind::reduce;
    if (!local && !reduces) return {};
    const Type& result = kernel_.type(op.results[0]);
    for (Value v : op.operands) {
      const Type& operand = kernel_.type(v);
      if (reduces ? lies_within(result, operand) : lies_within(operand, result)) continue;
      return fmt::format("{} and {} are in different threads or registers", to_string(operand), to_string(result));
    }
    return {};
  }

  const Kernel& kernel_;
  Stage stage_;
  std::vector<bool> in_flight_;  // results of mma, by Value::id
  std::vector<Product> issued_;  // in the order of their groups
  std::size_t outer_ = 0;        // of those: issued outside of the block
  std::int64_t committed_ = 0;   // groups, numbered from 1
};

}  // namespace

std::string legal(const Kernel& kernel, Stage stage) { return StageVerifier(kernel, stage).run(); }

}  // namespace tessera::ir
