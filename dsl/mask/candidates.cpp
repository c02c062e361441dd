#include <tessera/dsl/mask/candidates.h>

#include <algorithm>
#include <bit>

namespace tessera::mask {

using ir::OpCode;
using Id = Expressions::Id;

namespace {

constexpr std::size_t kMaxSystems = 26, kMaxBoxes = 90, kMaxWeights = 6, kMaxAlternatives = 6;
constexpr int kMaxBoxDigits = 3;  // what a tensor map has axes for
constexpr Int kOddSizes[] = {3, 5, 6, 7, 12, 24, 48, 96};

// A position as an expression sees it: (position % period) / weight.
struct Coordinate {
  int side;
  Int weight, period;
  friend bool operator==(const Coordinate&, const Coordinate&) = default;
};
using Coordinates = std::vector<Coordinate>;

class Walk {
 public:
  Walk(const Expressions& e, Int query_length, Int key_length) : e_(e), lengths_{query_length, key_length} {}

  void compare(Id id) {
    for (Id in : e_[id].in)
      if (in >= 0) use(of(in));
  }

  const Coordinates& of(Id id) {
    if (auto it = memo_.find(id); it != memo_.end()) return it->second;
    Coordinates found = walk(id), kept;
    for (const Coordinate& c : found)
      if (std::find(kept.begin(), kept.end(), c) == kept.end()) kept.push_back(c);
    return memo_[id] = std::move(kept);
  }

  std::set<Int> weights, sizes;  // of both sides: what divides one is a candidate for the other
  std::map<Int, Int> origins;

 private:
  void use(const Coordinates& coordinates) {
    for (const auto& [side, weight, period] : coordinates)
      for (Int w : {weight, period})
        if (w > 1 && w < lengths_[side]) weights.insert(w);
  }

  Coordinates walk(Id id);

  const Expressions& e_;
  Int lengths_[2];
  std::map<Id, Coordinates> memo_;
};

Coordinates Walk::walk(Id id) {
  const Expressions::Node& n = e_[id];
  if (n.op == OpCode::position) {
    if (n.index > at_k) return {};
    return {{n.index == at_q ? 0 : 1, 1, lengths_[n.index == at_q ? 0 : 1]}};
  }
  if (n.op == OpCode::gather || ir::info(n.op).kind == ir::OpKind::compare) {
    compare(id);
    return {};
  }
  Coordinates result;
  for (Id in : n.in)
    if (in >= 0) {
      const Coordinates& more = of(in);
      result.insert(result.end(), more.begin(), more.end());
    }
  if (n.in[1] < 0 || !e_.is_constant(n.in[1]) || e_.value(n.in[1]) <= 1) return result;
  const Int c = e_.value(n.in[1]);
  if (n.op == OpCode::mul) {  // after a division by as much: rounding
    for (Coordinate& x : result)
      if (x.weight % c == 0) sizes.insert(c), x.weight /= c;
  } else if (n.op == OpCode::div) {
    sizes.insert(c);
    const Expressions::Node& sum = e_[n.in[0]];
    if (sum.op == OpCode::add || sum.op == OpCode::sub)
      for (int i = 0; i < 2; ++i)
        if (e_.is_constant(sum.in[i]))
          if (const Int offset = e_.value(sum.in[i]); floor_mod(offset, c) != 0)
            origins[c] = floor_mod(sum.op == OpCode::sub && i == 1 ? -offset : offset, c);
    for (Coordinate& x : result)
      if (x.weight <= kMaxIndex / c) x.weight *= c;
  } else if (n.op == OpCode::mod) {
    for (Coordinate& x : result) x.period = x.weight <= kMaxIndex / c ? x.weight * c : x.period;
  }
  return result;
}

void flatten(Expressions& e, Id id, std::vector<Id>& into) {
  const Expressions::Node n = e[id];
  if (n.op == OpCode::logical_or) {
    flatten(e, n.in[0], into);
    flatten(e, n.in[1], into);
    return;
  }
  if (n.op == OpCode::logical_and) {
    std::vector<Id> left, right;
    flatten(e, n.in[0], left);
    flatten(e, n.in[1], right);
    const std::size_t products = left.size() * right.size();
    if (products > 1 && products <= kMaxAlternatives) {
      for (Id a : left)
        for (Id b : right) into.push_back(e.both(a, b));
      return;
    }
  }
  into.push_back(id);
}

// Sizes that a box may have along a digit.
std::vector<Int> box_sizes(Int extent, Int most, const std::set<Int>& hints) {
  std::set<Int> sizes;
  for (Int x = 1; x <= std::min(most, extent); x *= 2) sizes.insert(x);
  if (extent <= most) sizes.insert(extent);
  for (Int x : kOddSizes)
    if (x <= extent && (extent % x == 0 || (x >= 12 && ceil_div(extent, x) * x * 8 <= extent * 9))) sizes.insert(x);
  for (Int x : hints)
    if (x > 1 && x <= std::min(most, extent)) sizes.insert(x);
  return {sizes.begin(), sizes.end()};
}

}  // namespace

OrderCandidates order_candidates(const Expressions& e, Id root, int side, Int query_length, Int key_length) {
  Walk walk(e, query_length, key_length);
  walk.of(root);
  const Int tokens = side == 0 ? query_length : key_length;
  std::vector<Int> weights;
  for (auto w = walk.weights.rbegin(); w != walk.weights.rend() && weights.size() < kMaxWeights; ++w)
    if (*w < tokens) weights.push_back(*w);
  OrderCandidates result{{{1}}, std::move(walk.sizes), std::move(walk.origins)};
  std::vector<unsigned> subsets;
  for (unsigned s = 1; s < 1u << weights.size(); ++s)
    if (std::popcount(s) < kMaxOrderDigits) subsets.push_back(s);
  std::stable_sort(subsets.begin(), subsets.end(),
                   [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });
  for (unsigned s : subsets) {
    if (result.systems.size() == kMaxSystems) break;
    std::vector<Int> system;
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (s >> i & 1) system.push_back(weights[i]);
    system.push_back(1);
    result.systems.push_back(std::move(system));
  }
  return result;
}

std::vector<Order> boxes(const std::vector<Int>& weights, Int tokens, Int least, Int most,
                         const OrderCandidates& candidates) {
  Order order;
  for (Int weight : weights) order.digits.push_back({weight, 1, 0});
  if (weights.size() == 1) {
    order.digits[0].tile = static_cast<int>(most);
    return {order};
  }
  const TokenOrder lengths(order, tokens);
  std::vector<std::vector<Int>> sizes;
  for (int i = 0; i < lengths.digits(); ++i) sizes.push_back(box_sizes(lengths.extent(i), most, candidates.sizes));
  std::vector<Order> found;
  const auto choose = [&](const auto& self, std::size_t i, Int rows, int digits) -> void {
    if (i == weights.size()) {
      if (rows >= least && found.size() < kMaxBoxes) found.push_back(order);
      return;
    }
    for (Int x : sizes[i]) {
      if (rows * x > most || digits + (x > 1) > kMaxBoxDigits) continue;
      const auto origin = candidates.origins.find(x);
      order.digits[i].tile = static_cast<int>(x);
      order.digits[i].origin = origin == candidates.origins.end() ? 0 : static_cast<int>(origin->second);
      self(self, i + 1, rows * x, digits + (x > 1));
    }
  };
  choose(choose, 0, 1, 0);
  return found;
}

std::vector<Pointwise> alternatives(const Pointwise& predicate) {
  Expressions e(predicate);
  std::vector<Id> found;
  flatten(e, e.body({}, false), found);
  if (found.size() == 1 || found.size() > kMaxAlternatives) return {predicate};
  std::vector<Pointwise> parts;
  for (Id id : found) {
    Pointwise part;
    part.loc = predicate.loc;
    part.captures = predicate.captures;
    part.function.name = predicate.function.name;
    part.function.params = predicate.function.params;
    ir::Graph& graph = part.function.graph;
    std::array<ir::Value, kPositionCount> at{};
    for (int i = 0; i < ir::Function::kPositions; ++i) {
      const ir::Graph& from = predicate.function.graph;
      at[static_cast<std::size_t>(i)] = graph.add_value(from.type(from.entry.args[static_cast<std::size_t>(i)]),
                                                        from.name_of(from.entry.args[static_cast<std::size_t>(i)]));
      graph.entry.args.push_back(at[static_cast<std::size_t>(i)]);
    }
    ir::Builder into(graph, graph.entry, predicate.loc);
    into.yield(e.emit({id}, at, into));
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace tessera::mask
