#include <tessera/backend/passes/share_rings.h>

#include <algorithm>
#include <vector>

#include <tessera/backend/ordered_map.h>
#include <tessera/backend/passes/assign_layouts.h>

namespace tessera::backend {

using namespace ir;

namespace {

// Ops numbered in program order; from the load to the end of what reads it last.
struct Need {
  const Op* load;
  int first, last;
  bool meets(const Need& other) const { return first <= other.last && other.first <= last; }
};

class Needs {
 public:
  explicit Needs(const Kernel& kernel) : kernel_(kernel) { block(kernel.entry); }
  const std::vector<Need>& all() const { return needs_; }

 private:
  // Returns the ids that the block reads.
  std::vector<std::uint32_t> block(const Block& block) {
    std::vector<std::uint32_t> reads;
    const std::size_t outer = open_.size();
    for (const Op& op : block.ops) {
      const int number = next_++;
      if (is_shared_load(op, kernel_)) {
        open_.push_back(needs_.size());
        needs_.push_back({&op, number, number});
      }
      std::vector<std::uint32_t> mine;
      for (Value v : op.operands) mine.push_back(v.id);
      for (const Block& region : op.regions) {
        const std::vector<std::uint32_t> inner = this->block(region);
        mine.insert(mine.end(), inner.begin(), inner.end());
      }
      for (std::size_t i = outer; i < open_.size(); ++i) {
        Need& need = needs_[open_[i]];
        if (std::find(mine.begin(), mine.end(), need.load->results[0].id) != mine.end()) need.last = next_ - 1;
      }
      reads.insert(reads.end(), mine.begin(), mine.end());
    }
    open_.resize(outer);
    return reads;
  }

  const Kernel& kernel_;
  int next_ = 0;
  std::vector<Need> needs_;
  std::vector<std::size_t> open_;  // needs of the loads in the blocks around
};

}  // namespace

std::unordered_map<std::uint32_t, int> share_rings(const Kernel& kernel) {
  const Needs needs(kernel);
  const std::vector<const Op*> defined = definitions(kernel);
  // Rows that pad a tile are zeros for as long as nobody else copies there.
  const auto copied_rows = [&](const Op& load) {
    const AxisOrder* cut = order_of(kernel, defined, load.operands[0]);
    return cut ? cut->order.tile() : kernel.type(load.results[0]).dims[0].extent;
  };
  std::vector<std::vector<Need>> rings;
  std::unordered_map<std::uint32_t, int> ring_of;
  for (const Need& need : needs.all()) {
    const auto takes = [&](const std::vector<Need>& ring) {
      const Op& load = *ring[0].load;
      return load.index == need.load->index && kernel.type(load.results[0]) == kernel.type(need.load->results[0]) &&
             copied_rows(load) == copied_rows(*need.load) &&
             std::none_of(ring.begin(), ring.end(), [&](const Need& n) { return n.meets(need); });
    };
    auto ring = std::find_if(rings.begin(), rings.end(), takes);
    if (ring == rings.end()) ring = rings.insert(rings.end(), std::vector<Need>());
    ring->push_back(need);
    ring_of[need.load->results[0].id] = static_cast<int>(ring - rings.begin());
  }
  return ring_of;
}

}  // namespace tessera::backend
