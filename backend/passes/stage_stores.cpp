#include <tessera/backend/passes/stage_stores.h>

#include <algorithm>

#include <tessera/backend/emit/memory_plan.h>
#include <tessera/backend/layouts.h>
#include <tessera/backend/ordered_map.h>
#include <tessera/backend/warpgroup.h>
#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/typing.h>

namespace tessera::backend {

using namespace ir;

namespace {

class StageStores {
 public:
  StageStores(const Kernel& kernel, const Target& target)
      : kernel_(kernel), definitions_(definitions(kernel)), out_(kernel), planned_(kernel), target_(target) {}

  Kernel run() {
    for (std::size_t i = 0; i < out_.entry.ops.size(); ++i) {
      if (out_.entry.ops[i].code != OpCode::role || is_producer(out_.entry.ops[i])) continue;
      allocations_.clear();
      views_.clear();
      Block region = std::move(out_.entry.ops[i].regions[0]);
      warpgroups_ = out_.roles.at(static_cast<std::size_t>(out_.entry.ops[i].index)).warpgroups;
      const bool sends = block(region);
      if (sends) enclose(region);
      out_.entry.ops[i].regions[0] = std::move(region);
      const auto at = out_.entry.ops.begin() + static_cast<std::ptrdiff_t>(i);
      out_.entry.ops.insert(at, allocations_.begin(), allocations_.end());
      i += allocations_.size();
    }
    return std::move(out_);
  }

 private:
  // Where the tiles of one type are written before they are sent.
  struct Staging {
    Type tile;
    Value ring, view;
  };

  bool block(Block& body) {
    bool sends = false;
    std::vector<Op> ops;
    for (Op& op : body.ops) {
      for (Block& region : op.regions) sends = block(region) || sends;
      const Value view = op.code == OpCode::store && can_send(op) ? view_for(op) : Value{};
      if (!view) {
        ops.push_back(std::move(op));
        continue;
      }
      sends = true;
      ops.push_back({.code = OpCode::send_wait, .loc = op.loc});
      ops.push_back({.code = OpCode::write, .operands = {view, op.operands[0]}, .loc = op.loc});
      op.code = OpCode::send;
      op.operands[0] = view;
      ops.push_back(std::move(op));
    }
    body.ops = std::move(ops);
    return sends;
  }

  bool can_send(const Op& store) const {
    const Type& tile = out_.type(store.operands[0]);
    const Param& param = out_.params[static_cast<std::size_t>(store.index)];
    if (store.axis || bytes_of(tile.dtype) != 2 || tile.dims.size() != 2 || !tile.layout) return false;
    const Dim row = tile.dims[0], column = tile.dims[1];
    if (row.extent != kGroupRows || column.extent % 16 != 0) return false;
    if (*tile.layout != accumulator_layout(row, column)) return false;
    if (param.axes != std::vector{row.axis, column.axis}) return false;
    const AxisOrder* cut = order_of(kernel_, definitions_, store.operands[1]);
    if (cut && !rows_of_warp(*cut)) return false;
    // Rows that are no box are stored 8 columns at a time.
    const Dim* whole = out_.whole_extent(column.axis);
    if (cut && whole && whole->extent % 8 != 0) return false;
    return column.extent % kChunkColumns == 0 || out_.whole_extent(column.axis) != nullptr;
  }

  // No value where there is no memory for it.
  Value view_for(const Op& store) {
    Type tile = out_.type(store.operands[0]);
    tile.layout = nullptr;
    const auto found =
        std::find_if(views_.begin(), views_.end(), [&](const Staging& s) { return same_type(s.tile, tile); });
    if (found != views_.end()) return found->view;
    Type ring = tile;
    ring.kind = TypeKind::shared;
    ring.stages = 1;
    ring.dims[0].extent *= warpgroups_;
    const Value alloc = out_.add_value(ring, out_.params[static_cast<std::size_t>(store.index)].name + "_out");
    Op op{.code = OpCode::alloc, .results = {alloc}, .loc = store.loc};
    if (!fits(op)) return {};
    allocations_.push_back(std::move(op));
    Type view = tile;
    view.kind = TypeKind::view;
    views_.push_back({tile, alloc, out_.add_value(view)});
    return views_.back().view;
  }

  bool fits(const Op& alloc) {
    planned_.entry.ops.insert(planned_.entry.ops.begin(), alloc);
    planned_.values = out_.values;
    if (plan_memory(planned_).total <= target_.shared_bytes) return true;
    planned_.entry.ops.erase(planned_.entry.ops.begin());
    return false;
  }

  // The views before everything else, a last wait after it: memory must not change hands while a send reads it.
  void enclose(Block& region) {
    std::vector<Op> ops;
    const auto value = [&](Op op, Type type) {
      op.results = {out_.add_value(std::move(type))};
      ops.push_back(std::move(op));
      return ops.back().results[0];
    };
    const Type i32 = Type::scalar(DType::i32);
    const Value group = value({.code = OpCode::group_id}, i32);
    const Value rows = value({.code = OpCode::constant, .number = kGroupRows}, i32);
    const Value first = value({.code = OpCode::mul, .operands = {group, rows}}, i32);
    const Value use = value({.code = OpCode::constant, .number = 0}, i32);
    for (const Staging& staging : views_) {
      Type whole = out_.type(staging.ring);
      whole.kind = TypeKind::view;
      const Value slot = value({.code = OpCode::slot, .operands = {staging.ring, use}}, whole);
      ops.push_back(
          {.code = OpCode::rows, .operands = {slot, first}, .results = {staging.view}, .axis = whole.dims[0].axis});
    }
    region.ops.insert(region.ops.begin(), ops.begin(), ops.end());
    const bool yields = !region.ops.empty() && region.ops.back().code == OpCode::yield;
    region.ops.insert(region.ops.end() - (yields ? 1 : 0), {.code = OpCode::send_wait});
  }

  const Kernel& kernel_;
  const std::vector<const Op*> definitions_;
  Kernel out_, planned_;  // planned_: with the allocations so far
  const Target& target_;
  int warpgroups_ = 1;
  std::vector<Op> allocations_;
  std::vector<Staging> views_;
};

}  // namespace

Kernel stage_stores(const Kernel& kernel, const Target& target) { return StageStores(kernel, target).run(); }

}  // namespace tessera::backend
