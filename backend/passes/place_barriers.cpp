#include <tessera/backend/passes/place_barriers.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

bool reads(const Op& op, const std::vector<Value>& values) {
  for (Value v : op.operands)
    if (std::find(values.begin(), values.end(), v) != values.end()) return true;
  for (const Block& region : op.regions)
    for (const Op& inner : region.ops)
      if (reads(inner, values)) return true;
  return false;
}

Op barrier_op(OpCode code, Value barrier, Value ticket, int index, SourceLoc loc) {
  Op op;
  op.code = code;
  op.operands = {barrier, ticket};
  op.index = index;
  op.loc = loc;
  return op;
}

class PlaceBarriers {
 public:
  explicit PlaceBarriers(const Kernel& kernel) : out_(kernel) {}

  Kernel run() {
    if (out_.roles.empty()) return std::move(out_);
    collect_rings();
    for (Op& role : out_.entry.ops)
      if (role.code == OpCode::role) block(role.regions[0]);
    std::rotate(out_.entry.ops.begin(), out_.entry.ops.end() - static_cast<std::ptrdiff_t>(added_),
                out_.entry.ops.end());
    return std::move(out_);
  }

 private:
  // A ring is refilled if it is filled in a loop or at more than one place.
  void collect_rings() {
    const std::vector<const Op*> definition = definitions(out_);
    std::unordered_map<std::uint32_t, int> fills;  // by full barrier
    const std::function<void(const Block&, bool)> count = [&](const Block& block, bool looped) {
      for (const Op& op : block.ops) {
        if (op.code == OpCode::copy) {
          full_of_ring_[definition[op.operands[0].id]->operands[0].id] = op.operands[1].id;
          fills[op.operands[1].id] += looped ? 2 : 1;
        }
        for (const Block& region : op.regions) count(region, looped || op.code == OpCode::loop);
      }
    };
    count(out_.entry, false);
    const int consumers = out_.roles.back().warpgroups;
    std::vector<Op> allocs;
    for (const Op& op : out_.entry.ops) {
      if (op.code != OpCode::alloc || fills[op.results[0].id] < 2) continue;
      Type type = out_.type(op.results[0]);
      type.arrivals = consumers;
      std::string name = out_.name_of(op.results[0]);
      if (const std::size_t at = name.rfind("_full"); at != std::string::npos) name.replace(at, 5, "_empty");
      Op alloc = op;
      alloc.results = {out_.add_value(type, name)};
      empty_[op.results[0].id] = alloc.results[0];
      allocs.push_back(std::move(alloc));
    }
    added_ = allocs.size();
    out_.entry.ops.insert(out_.entry.ops.end(), allocs.begin(), allocs.end());
  }

  void block(Block& block) {
    std::vector<Op> ops = std::move(block.ops);
    block.ops.clear();
    std::vector<Op> waits;  // not placed yet
    for (Op& op : ops) {
      for (Block& region : op.regions) this->block(region);
      if (op.code == OpCode::wait && op.index == 0) {
        waits.push_back(std::move(op));
        continue;
      }
      if (op.code == OpCode::expect && empty_.contains(op.operands[0].id))
        block.ops.push_back(barrier_op(OpCode::wait, empty_[op.operands[0].id], op.operands[1], 1, op.loc));
      place_waits(waits, op, block);
      block.ops.push_back(std::move(op));
      remember_slot(block.ops.back());
    }
    block.ops.insert(block.ops.end(), waits.begin(), waits.end());
    release(block);
  }

  // Waits move down to the first reader of their slot; one that nothing reads stays before the block's end, so that the
  // copy is complete before its memory is used again.
  void place_waits(std::vector<Op>& waits, const Op& before, Block& block) {
    for (auto wait = waits.begin(); wait != waits.end();) {
      if (before.code != OpCode::yield && (before.code == OpCode::rows || !reads(before, slots_of(*wait)))) {
        ++wait;
        continue;
      }
      auto at = block.ops.end();  // a fence stays next to the product it is for
      while (at != block.ops.begin() && std::prev(at)->code == OpCode::mma_fence) --at;
      block.ops.insert(at, *wait);
      wait = waits.erase(wait);
    }
  }

  // Views of the ring's tile that this wait's ticket names.
  std::vector<Value> slots_of(const Op& wait) const {
    const auto found = views_.find({wait.operands[0].id, wait.operands[1].id});
    return found == views_.end() ? std::vector<Value>{} : found->second;
  }

  void remember_slot(const Op& op) {
    if (op.code == OpCode::slot) {
      const auto key = std::pair(full_of_ring_.at(op.operands[0].id), op.operands[1].id);
      views_[key].push_back(op.results[0]);
      root_[op.results[0].id] = key;
    } else if (op.code == OpCode::rows && root_.contains(op.operands[0].id)) {
      const auto key = root_[op.operands[0].id];
      views_[key].push_back(op.results[0]);
      root_[op.results[0].id] = key;
    }
  }

  // After the last reader of each slot that this block waited for.
  void release(Block& block) {
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      const Op wait = block.ops[i];
      if (wait.code != OpCode::wait || wait.index != 0 || !empty_.contains(wait.operands[0].id)) continue;
      const std::size_t at = released_after(block, i, slots_of(wait));
      block.ops.insert(block.ops.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       barrier_op(OpCode::arrive, empty_[wait.operands[0].id], wait.operands[1], -1, wait.loc));
    }
  }

  // Index of the op after which nothing of `slots` is being read any more.
  std::size_t released_after(const Block& block, std::size_t wait, const std::vector<Value>& slots) const {
    std::size_t last = wait;
    for (std::size_t i = wait; i < block.ops.size(); ++i)
      if (block.ops[i].code != OpCode::rows && reads(block.ops[i], slots)) last = i;
    if (block.ops[last].code != OpCode::mma) return last;
    int committed = -1;  // groups after the product's own
    for (std::size_t i = last; i < block.ops.size(); ++i) {
      if (block.ops[i].code == OpCode::mma_commit) ++committed;
      if (block.ops[i].code == OpCode::mma_wait && committed >= block.ops[i].index && committed >= 0) return i;
    }
    throw InternalError("a product reads a ring and its group is never waited for");
  }

  struct KeyHash {
    std::size_t operator()(const std::pair<std::uint32_t, std::uint32_t>& k) const {
      return k.first * 1000003u + k.second;
    }
  };

  Kernel out_;
  std::size_t added_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> full_of_ring_;
  std::unordered_map<std::uint32_t, Value> empty_;  // full barrier -> empty barrier
  std::unordered_map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Value>, KeyHash>
      views_;  // (full barrier, ticket)
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> root_;
};

}  // namespace

Kernel place_barriers(const Kernel& kernel) { return PlaceBarriers(kernel).run(); }

}  // namespace tessera::backend
