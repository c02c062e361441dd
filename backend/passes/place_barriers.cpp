#include <tessera/backend/passes/place_barriers.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

// One use of a ring: the barrier that its copy completes on, and the ticket. Ids of values.
using Use = std::pair<std::uint32_t, std::uint32_t>;

bool is_wait(const Op& op) { return op.code == OpCode::wait && op.index == 0; }

bool contains(const std::vector<Value>& values, Value v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

// Whether the op, or one inside it, reads the tile behind one of `views`. Making another view of it is no reading.
bool reads(const Op& op, const std::vector<Value>& views) {
  if (op.code != OpCode::rows)
    for (Value v : op.operands)
      if (contains(views, v)) return true;
  for (const Block& region : op.regions)
    for (const Op& inner : region.ops)
      if (reads(inner, views)) return true;
  return false;
}

// What the kernel says about its rings.
struct Rings {
  std::map<Use, std::vector<Value>> views;          // slots and rows of each use
  std::unordered_map<std::uint32_t, int> fills;     // by full barrier; 2 where it may be many
  std::unordered_map<std::uint32_t, int> releases;  // by full barrier: warpgroups that wait for it

  explicit Rings(const Kernel& kernel) {
    const std::vector<const Op*> definition = definitions(kernel);
    std::unordered_map<std::uint32_t, std::uint32_t> full_of_ring;
    walk(kernel.entry, [&](const Op& op) {
      if (op.code == OpCode::copy) full_of_ring[definition[op.operands[0].id]->operands[0].id] = op.operands[1].id;
    });
    std::unordered_map<std::uint32_t, Use> use_of;  // by view
    walk(kernel.entry, [&](const Op& op) {
      if (op.code != OpCode::slot && op.code != OpCode::rows) return;
      const Value view = op.results[0];
      use_of[view.id] = op.code == OpCode::slot ? Use(full_of_ring.at(op.operands[0].id), op.operands[1].id)
                                                : use_of.at(op.operands[0].id);
      views[use_of[view.id]].push_back(view);
    });
    count_fills(kernel.entry, false);
    for (const Op& role : kernel.entry.ops)
      if (role.code == OpCode::role) count_releases(role, kernel.roles.at(static_cast<std::size_t>(role.index)));
  }

  // A ring that is filled once keeps its tile: nobody has to release it.
  bool refilled(Value full) const {
    const auto found = fills.find(full.id);
    return found != fills.end() && found->second > 1;
  }

  std::vector<Value> views_of(const Op& wait) const {
    const auto found = views.find({wait.operands[0].id, wait.operands[1].id});
    return found == views.end() ? std::vector<Value>() : found->second;
  }

 private:
  void count_fills(const Block& block, bool looped) {
    for (const Op& op : block.ops) {
      if (op.code == OpCode::copy) fills[op.operands[1].id] += looped ? 2 : 1;
      for (const Block& region : op.regions)
        count_fills(region, looped || op.code == OpCode::loop || op.code == OpCode::programs);
    }
  }

  void count_releases(const Op& op, const Role& role) {
    std::vector<std::uint32_t> waited;
    walk(op.regions[0], [&](const Op& inner) {
      if (!is_wait(inner) || std::find(waited.begin(), waited.end(), inner.operands[0].id) != waited.end()) return;
      waited.push_back(inner.operands[0].id);
      releases[waited.back()] += role.warpgroups;
    });
  }
};

Op barrier_op(OpCode code, Value barrier, Value ticket, int index, SourceLoc loc) {
  Op op;
  op.code = code;
  op.operands = {barrier, ticket};
  op.index = index;
  op.loc = loc;
  return op;
}

// Index of the op of `block`, from `first` on, after which nothing of `views` is being read any more; `first` if
// nothing reads them. Products read until an mma_wait covers their group, which must be in the product's own block.
std::size_t last_reader(const Block& block, std::size_t first, const std::vector<Value>& views) {
  std::size_t last = first;
  for (std::size_t i = first; i < block.ops.size(); ++i) {
    if (!reads(block.ops[i], views)) continue;
    last = i;
    for (const Block& region : block.ops[i].regions) last_reader(region, 0, views);  // for its check
  }
  if (block.ops.empty() || block.ops[last].code != OpCode::mma) return last;
  int committed = -1;  // groups after the product's own
  for (std::size_t i = last; i < block.ops.size(); ++i) {
    if (block.ops[i].code == OpCode::mma_commit) ++committed;
    if (block.ops[i].code == OpCode::mma_wait && committed >= block.ops[i].index && committed >= 0) return i;
  }
  throw InternalError("a product reads a ring and its group is never waited for in its own block");
}

class PlaceBarriers {
 public:
  explicit PlaceBarriers(const Kernel& kernel) : out_(kernel), rings_(kernel) {}

  Kernel run() {
    if (out_.roles.empty()) return std::move(out_);
    declare();
    for (Op& role : out_.entry.ops)
      if (role.code == OpCode::role) block(role.regions[0]);
    return std::move(out_);
  }

 private:
  // An empty barrier beside each full one of a ring that is refilled.
  void declare() {
    std::vector<Op> ops;
    for (Op& op : out_.entry.ops) {
      ops.push_back(std::move(op));
      const Op& full = ops.back();
      if (full.code != OpCode::alloc || !rings_.refilled(full.results[0])) continue;
      Type type = out_.type(full.results[0]);
      type.arrivals = rings_.releases.at(full.results[0].id);
      std::string name = out_.name_of(full.results[0]);
      if (const std::size_t at = name.rfind("_full"); at != std::string::npos) name.replace(at, 5, "_empty");
      Op empty = full;
      empty.results = {out_.add_value(type, name)};
      empty_[full.results[0].id] = empty.results[0];
      ops.push_back(std::move(empty));
    }
    out_.entry.ops = std::move(ops);
  }

  void block(Block& block) {
    for (Op& op : block.ops)
      for (Block& region : op.regions) this->block(region);
    refill(block);
    sink_waits(block);
    release(block);
  }

  // A slot is filled again when its last use has been released.
  void refill(Block& block) {
    std::vector<Op> ops;
    for (Op& op : block.ops) {
      if (op.code == OpCode::expect && empty_.contains(op.operands[0].id))
        ops.push_back(barrier_op(OpCode::wait, empty_[op.operands[0].id], op.operands[1], 1, op.loc));
      ops.push_back(std::move(op));
    }
    block.ops = std::move(ops);
  }

  // Waits move down to the first reader of what they wait for. One that nothing reads here stays: sunk below the next
  // use of its ring, it would hold back the release that this use waits for.
  void sink_waits(Block& block) {
    std::map<std::size_t, std::vector<Op>> before;  // by the reader's index
    std::vector<bool> moved(block.ops.size(), false);
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      if (!is_wait(block.ops[i])) continue;
      const std::vector<Value> views = rings_.views_of(block.ops[i]);
      const auto reader = std::find_if(block.ops.begin() + static_cast<std::ptrdiff_t>(i) + 1, block.ops.end(),
                                       [&](const Op& op) { return reads(op, views); });
      if (reader == block.ops.end()) continue;
      moved[i] = true;
      before[static_cast<std::size_t>(reader - block.ops.begin())].push_back(block.ops[i]);
    }
    std::vector<Op> ops;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      if (const auto waits = before.find(i); waits != before.end()) {
        auto at = ops.end();  // a fence stays next to the product it is for
        while (at != ops.begin() && std::prev(at)->code == OpCode::mma_fence) --at;
        ops.insert(at, waits->second.begin(), waits->second.end());
      }
      if (!moved[i]) ops.push_back(std::move(block.ops[i]));
    }
    block.ops = std::move(ops);
  }

  // After the last reader of each slot that this block waited for.
  void release(Block& block) {
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      if (!is_wait(block.ops[i]) || !empty_.contains(block.ops[i].operands[0].id)) continue;
      const Op& wait = block.ops[i];
      Op arrive = barrier_op(OpCode::arrive, empty_[wait.operands[0].id], wait.operands[1], -1, wait.loc);
      const std::size_t at = last_reader(block, i, rings_.views_of(wait));
      block.ops.insert(block.ops.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(arrive));
    }
  }

  Kernel out_;
  const Rings rings_;
  std::unordered_map<std::uint32_t, Value> empty_;  // full barrier -> empty barrier
};

}  // namespace

Kernel place_barriers(const Kernel& kernel) { return PlaceBarriers(kernel).run(); }

}  // namespace tessera::backend
