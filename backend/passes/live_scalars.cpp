#include <tessera/backend/passes/live_scalars.h>

#include <algorithm>
#include <vector>

namespace tessera::backend {

using namespace ir;

namespace {

class LiveScalars {
 public:
  explicit LiveScalars(const Kernel& kernel) : kernel_(kernel), spans_(kernel.values.size()) { block(kernel.entry); }

  int most() const {
    std::vector<int> change(static_cast<std::size_t>(next_) + 1, 0);
    for (const Span& s : spans_) {
      if (s.first < 0 || s.last <= s.first) continue;
      change[static_cast<std::size_t>(s.first)] += s.words;
      change[static_cast<std::size_t>(s.last)] -= s.words;
    }
    int live = 0, most = 0;
    for (int c : change) most = std::max(most, live += c);
    return most;
  }

 private:
  struct Span {
    int first = -1, last = -1;  // places in program order; none for what does not count
    int words = 1;
  };

  bool counts(Value v) const { return kernel_.type(v).is_scalar() && kernel_.type(v).dtype != DType::i1; }

  void define(Value v) {
    if (counts(v)) spans_[v.id] = {next_, next_};
  }

  // Returns the values used.
  std::vector<Value> block(const Block& block) {
    std::vector<Value> used;
    for (Value v : block.args) define(v);
    for (const Op& op : block.ops) {
      std::vector<Value> mine = op.operands;
      const int before = ++next_;  // what the region defines comes later than what is defined up to here
      for (const Block& region : op.regions)
        for (Value v : this->block(region))
          if (spans_[v.id].first < before) mine.push_back(v);
      ++next_;
      for (Value v : mine) spans_[v.id].last = next_;
      if (op.code != OpCode::constant)
        for (Value v : op.results) define(v);
      if (op.code == OpCode::tile_at)  // its operands but the row
        spans_[op.results[0].id] = {next_, next_, static_cast<int>(op.operands.size()) - 1};
      used.insert(used.end(), mine.begin(), mine.end());
    }
    return used;
  }

  const Kernel& kernel_;
  std::vector<Span> spans_;  // by Value::id
  int next_ = 0;
};

}  // namespace

int most_live_scalars(const Kernel& kernel) { return LiveScalars(kernel).most(); }

}  // namespace tessera::backend
