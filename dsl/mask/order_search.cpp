#include <tessera/dsl/mask/order_search.h>

#include <algorithm>
#include <limits>

namespace tessera::mask {

namespace {

constexpr Int kSample = 4, kTableSample = 12;  // query tiles that a box is judged by
constexpr Int kBudget = 1200;                  // rows looked at one by one
constexpr double kDigitCost = 0.002;           // of the time: what a digit more has to win
constexpr double kRowAnchorGain = 0.995;

TokenOrder unit_order(const std::vector<Int>& weights, Int tokens) {
  Order order;
  for (Int weight : weights) order.digits.push_back({weight, 1, 0});
  return {order, tokens};
}

}  // namespace

std::vector<Int> weights_of(const Order& order) {
  std::vector<Int> weights;
  for (const OrderDigit& digit : order.digits) weights.push_back(digit.weight);
  return weights;
}

bool suggests_orders(const Pointwise& predicate, const PlanRequest& request) {
  Expressions e(predicate, request.scalars);
  const Expressions::Id root = e.body(bound_positions(request, 0, 0), true);
  const auto any = [&](int side) {
    return order_candidates(e, root, side, request.query_length, request.key_length).systems.size() > 1;
  };
  return any(0) || any(1);
}

OrderSearch::OrderSearch(const Pointwise& predicate, const std::vector<Pointwise>& parts, const PlanRequest& request,
                         const TargetCosts& costs, const PlanSpace& space)
    : request_(request), costs_(costs), space_(space) {
  Expressions whole(predicate, request.scalars);
  const Expressions::Id root = whole.body(bound_positions(request, 0, 0), true);
  query_candidates_ = order_candidates(whole, root, 0, request.query_length, request.key_length);
  key_candidates_ = order_candidates(whole, root, 1, request.query_length, request.key_length);
  parts_.reserve(parts.size());
  for (const Pointwise& part : parts) {
    Part& p = parts_.emplace_back();
    p.predicate = part;
    p.expressions = std::make_unique<Expressions>(p.predicate, request.scalars);
    p.root = p.expressions->body(bound_positions(request, 0, 0), true);
    p.reads_tables = ((*p.expressions)[p.root].depends >> (kPositionCount + 1) & 1) != 0;
  }
}

TileCounter& OrderSearch::counter(Part& part, const std::vector<Int>& queries, const std::vector<Int>& keys) {
  std::unique_ptr<TileCounter>& counter = part.counters[{queries, keys}];
  if (!counter)
    counter = std::make_unique<TileCounter>(*part.expressions, part.root, unit_order(queries, request_.query_length),
                                            unit_order(keys, request_.key_length));
  return *counter;
}

double OrderSearch::seconds(const Tally& tally, int rows, const Order& keys) const {
  const std::int64_t step = step_keys(keys.tile());
  return tally.visited * costs_.step(rows, step) + (tally.visited - tally.full) * costs_.masking(rows, step);
}

double OrderSearch::starts(const QueryChoice& queries) const {
  return static_cast<double>(TokenOrder(queries.order, request_.query_length).tiles()) * costs_.row(queries.rows);
}

bool OrderSearch::separable_with_some(Part& part, const std::vector<Int>& queries) {
  return std::any_of(key_candidates_.systems.begin(), key_candidates_.systems.end(),
                     [&](const std::vector<Int>& keys) { return counter(part, queries, keys).separable(); });
}

void OrderSearch::try_keys(Part& part, TileCounter& counter, const QueryChoice& queries, const std::vector<Int>& system,
                           KeyChoice& best) {
  constexpr int kLeastKeys = 40;
  const int most = costs_.key_rows;
  std::vector<Order> orders = boxes(system, request_.key_length, std::min(kLeastKeys, most), most, key_candidates_);
  if (system.size() == 1) orders.push_back(Order::identity(most / 2));
  const Int sample = part.reads_tables ? kTableSample : kSample;
  for (const Order& keys : orders) {
    if (!counter.separable() && system.size() > 1 && looked_at_ > kBudget) return;
    const double more = 1 + kDigitCost * static_cast<double>(system.size() + counter.key_divisions());
    const double grid = seconds(counter.count(queries.order, keys, Anchor::grid, sample), queries.rows, keys) * more;
    if (grid < best.seconds) best = {keys, Anchor::grid, grid};
    if (!counter.separable()) looked_at_ += sample;
    if (!space_.anchored || !counter.anchors_at_rows()) continue;
    const double row = seconds(counter.count(queries.order, keys, Anchor::row, sample), queries.rows, keys) * more;
    if (row < best.seconds * kRowAnchorGain) best = {keys, Anchor::row, row};
  }
}

KeyChoice OrderSearch::key_order(std::size_t which, const QueryChoice& queries) {
  Part& part = parts_[which];
  KeyChoice best{Order::identity(costs_.key_rows), Anchor::grid, std::numeric_limits<double>::infinity()};
  const std::vector<Int> query_system = weights_of(queries.order);
  const std::vector<std::vector<Int>>& systems = key_candidates_.systems;
  bool found = false;
  for (const std::vector<Int>& system : systems) {
    TileCounter& c = counter(part, query_system, system);
    if (c.nothing_live()) return {Order::identity(costs_.key_rows), Anchor::grid, 0};
    if (!c.separable()) continue;
    found |= system.size() > 1 || systems.size() == 1;
    try_keys(part, c, queries, system, best);
  }
  for (const std::vector<Int>& system : systems)
    if (!found && (!part.plain || system.size() == 1 || system == query_system))
      if (TileCounter& c = counter(part, query_system, system); !c.separable())
        try_keys(part, c, queries, system, best);
  return best;
}

// With keys in a box like that of the queries.
double OrderSearch::quick_seconds(Part& part, const QueryChoice& queries) {
  Order keys = queries.order;
  if (keys.digits.size() == 1) keys = Order::identity(costs_.key_rows);
  for (OrderDigit& digit : keys.digits)
    while (keys.tile() > costs_.key_rows && digit.tile % 2 == 0) digit.tile /= 2, digit.origin = 0;
  const std::vector<Int> system = weights_of(keys);
  TileCounter& c = counter(part, system, system);
  const Int sample = part.reads_tables ? kTableSample : kSample;
  looked_at_ += sample;
  return seconds(c.count(queries.order, keys, Anchor::grid, sample), queries.rows, keys);
}

std::vector<QueryChoice> OrderSearch::query_orders(std::size_t which, std::size_t most) {
  Part& part = parts_[which];
  std::vector<QueryChoice> choices;
  bool found = false;
  const Int most_tiles = 8 * ceil_div(request_.query_length, 64) + 64;
  for (const bool separable : {true, false}) {
    if (!separable && found) break;
    for (const std::vector<Int>& system : query_candidates_.systems) {
      const bool here = separable_with_some(part, system);
      if (separable ? !here && system.size() > 1 : here || system.size() == 1) continue;
      found |= here && (system.size() > 1 || query_candidates_.systems.size() == 1);
      part.plain |= found;
      for (const TargetCosts::Rate& rate : costs_.rates)
        for (const Order& order :
             boxes(system, request_.query_length, rate.query_rows * 5 / 8, rate.query_rows, query_candidates_)) {
          QueryChoice choice{order, rate.query_rows};
          if (TokenOrder(order, request_.query_length).tiles() > most_tiles) continue;
          if (!here && looked_at_ > kBudget) break;
          const double tiles = here ? key_order(which, choice).seconds : quick_seconds(part, choice);
          choice.seconds = (tiles + starts(choice)) * (1 + kDigitCost * static_cast<double>(system.size()));
          choices.push_back(std::move(choice));
        }
    }
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [](const QueryChoice& a, const QueryChoice& b) { return a.seconds < b.seconds; });
  if (choices.size() > most) choices.resize(most);
  return choices;
}

}  // namespace tessera::mask
