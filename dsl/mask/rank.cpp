#include <tessera/dsl/mask/rank.h>

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

namespace tessera::mask {

namespace {

constexpr Int kCountedRows = 4096, kListedRows = 256;  // query tiles that are all counted, by hulls and one by one
constexpr Int kSampledRows = 24;                       // of more than can be listed
constexpr Int kLiveRows = 256;
constexpr std::size_t kBuilt = 3;        // assignments that are counted exactly
constexpr std::size_t kQueryOrders = 3;  // of each part

struct SourceChoice {
  std::shared_ptr<const Pointwise> part;  // null: all
  Order keys;
  Anchor anchor;
};
struct PassChoice {
  QueryChoice queries;
  std::vector<SourceChoice> sources;
};

// One pass over one source.
std::vector<PassChoice> whole(const QueryChoice& queries, const Order& keys, Anchor anchor) {
  std::vector<PassChoice> passes(1);
  passes[0].queries = queries;
  passes[0].sources.push_back({nullptr, keys, anchor});
  return passes;
}

class Rater {
 public:
  Rater(const Pointwise& predicate, const PlanRequest& request, const TargetCosts& costs, double live)
      : predicate_(predicate), request_(request), costs_(costs), live_(live) {}

  RankedPlan rate(const std::vector<PassChoice>& passes) {
    RankedPlan ranked;
    double area = 0;
    for (std::size_t p = 0; p < passes.size(); ++p) {
      Pass pass{passes[p].queries.order, {}};
      RankedPass& rated = ranked.passes.emplace_back();
      rated.rows = passes[p].queries.rows;
      for (const SourceChoice& source : passes[p].sources) {
        rated.sources.push_back(count(passes[p].queries, source));
        pass.sources.push_back({source.keys, TileList{}, counts(rated.sources.back().tally, passes[p].queries, source),
                                source.part, source.anchor});
        area += rated.sources.back().area;
        ranked.exact &= rated.sources.back().tally.exact;
      }
      time(rated, passes[p].queries);
      ranked.seconds += rated.seconds;
      if (p > 0) ranked.seconds += costs_.chaining(request_.query_length * request_.heads * request_.batch);
      ranked.plan.passes.push_back(std::move(pass));
    }
    ranked.waste = live_ > 0 ? area / live_ : 0;
    bound(ranked, area);
    return ranked;
  }

 private:
  RankedSource count(const QueryChoice& queries, const SourceChoice& source) {
    const Pointwise& part = source.part ? *source.part : predicate_;
    Expressions e(part, request_.scalars);
    const TokenOrder q(queries.order, request_.query_length), k(source.keys, request_.key_length);
    TileCounter counter(e, e.body(bound_positions(request_, 0, 0), true), q, k);
    const Anchor anchor = counter.anchors_at_rows() ? source.anchor : Anchor::grid;
    const Int sample = counter.cheap(queries.order, source.keys) ? kCountedRows
                       : q.tiles() <= kListedRows                ? 0
                                                                 : kSampledRows;
    RankedSource rated{counter.count(queries.order, source.keys, anchor, sample)};
    rated.area = rated.tally.visited * queries.rows * static_cast<double>(step_keys(source.keys.tile()));
    return rated;
  }

  Counts counts(const Tally& tally, const QueryChoice& queries, const SourceChoice& source) const {
    const double heads = static_cast<double>(request_.heads * request_.batch);
    const auto whole = [&](double tiles) { return static_cast<std::int64_t>(std::llround(tiles * heads)); };
    Counts counts;
    counts.total = TokenOrder(queries.order, request_.query_length).tiles() *
                   TokenOrder(source.keys, request_.key_length).tiles() * request_.heads * request_.batch;
    counts.visited = whole(tally.visited), counts.full = whole(tally.full);
    counts.partial = counts.visited - counts.full;
    return counts;
  }

  void bound(RankedPlan& ranked, double area) const {
    const Pass& first = ranked.plan.passes[0];
    const Order& keys = first.sources[0].keys;
    const double columns = static_cast<double>(TokenOrder(keys, request_.key_length).tiles() * step_keys(keys.tile()));
    double worst = 0;
    for (std::size_t p = 0; p < ranked.passes.size(); ++p)
      for (std::size_t i = 0; i < ranked.passes[p].sources.size(); ++i)
        worst += ranked.passes[p].sources[i].tally.worst *
                 static_cast<double>(step_keys(ranked.plan.passes[p].sources[i].keys.tile()));
    const double rows = ranked.passes[0].sources[0].tally.query_tiles * ranked.passes[0].rows;
    const double pairs = static_cast<double>(request_.query_length) * static_cast<double>(request_.key_length);
    ranked.live_bound = live_ > 0 ? pairs / live_ : 0;
    ranked.tile_bound = area > 0 ? rows * columns / area : 0;
    ranked.worst_bound = worst > 0 ? columns / worst : 0;
  }

  void time(RankedPass& pass, const QueryChoice& queries) const {
    const double heads = static_cast<double>(request_.heads * request_.batch), start = costs_.row(queries.rows);
    const Tally& first = pass.sources.front().tally;
    double sum = first.query_tiles * start;
    bool rows_known = true;
    for (const RankedSource& source : pass.sources) {
      const double keys = source.area / std::max(source.tally.visited, 1.0) / queries.rows;
      sum += source.tally.visited * costs_.step(queries.rows, std::llround(keys)) +
             (source.tally.visited - source.tally.full) * costs_.masking(queries.rows, std::llround(keys));
      rows_known &= source.tally.row_visited.size() == first.row_visited.size() && !source.tally.row_visited.empty();
    }
    const double even = sum * heads / costs_.processors;
    double seconds = even + (rows_known ? 0 : start / 2);
    if (rows_known) {
      RowTimes rows{std::vector<double>(first.row_visited.size(), start), heads};
      for (const RankedSource& source : pass.sources) {
        const std::int64_t keys = std::llround(source.area / std::max(source.tally.visited, 1.0) / queries.rows);
        const double step = costs_.step(queries.rows, keys), mask = costs_.masking(queries.rows, keys);
        for (std::size_t r = 0; r < rows.seconds.size(); ++r)
          rows.seconds[r] +=
              source.tally.row_visited[r] * step + (source.tally.row_visited[r] - source.tally.row_full[r]) * mask;
      }
      seconds = makespan(std::move(rows), costs_, start + 8 * costs_.step(queries.rows, 128), start / 2);
    }
    pass.seconds = seconds + costs_.launch_seconds;
    pass.balance = even > 0 ? seconds / even : 1;
    pass.padding = first.query_tiles * queries.rows / static_cast<double>(std::max<Int>(request_.query_length, 1));
  }

  const Pointwise& predicate_;
  const PlanRequest& request_;
  const TargetCosts& costs_;
  double live_;
};

// Which query order each part takes.
struct Assignment {
  std::vector<std::size_t> order;
  double seconds;
};

class Ranking {
 public:
  Ranking(const Pointwise& predicate, const PlanRequest& request, const TargetCosts& costs, const PlanSpace& space)
      : predicate_(predicate),
        request_(request),
        costs_(costs),
        space_(space),
        parts_(alternatives(predicate)),
        search_(predicate, with_whole(), request, costs, space) {}

  std::vector<RankedPlan> run() {
    Rater rater(predicate_, request_, costs_, live_pairs(predicate_, request_));
    find_orders();
    std::vector<RankedPlan> plans;
    plans.push_back(rater.rate(whole(queries_[0], Order::identity(costs_.key_rows), Anchor::grid)));
    for (const Assignment& assignment : assignments()) {
      RankedPlan plan = rater.rate(passes(assignment));
      const bool known =
          std::any_of(plans.begin(), plans.end(), [&](const RankedPlan& p) { return to_string(p) == to_string(plan); });
      if (!known) plans.push_back(std::move(plan));
    }
    std::stable_sort(plans.begin(), plans.end(),
                     [](const RankedPlan& a, const RankedPlan& b) { return a.seconds < b.seconds; });
    return plans;
  }

 private:
  std::vector<Pointwise> with_whole() const {
    std::vector<Pointwise> all = parts_;
    if (parts_.size() > 1) all.push_back(predicate_);
    return all;
  }

  void find_orders() {
    const auto add = [&](const QueryChoice& choice) {
      const bool known = std::any_of(queries_.begin(), queries_.end(), [&](const QueryChoice& q) {
        return q.order == choice.order && q.rows == choice.rows;
      });
      if (!known) queries_.push_back(choice);
    };
    const int rows = costs_.rates.at(0).query_rows;
    add({Order::identity(rows), rows});
    for (std::size_t part = 0; part < parts_.size() + (parts_.size() > 1); ++part)
      for (const QueryChoice& choice : search_.query_orders(part, kQueryOrders)) add(choice);
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      keys_.emplace_back();
      for (const QueryChoice& q : queries_) keys_.back().push_back(search_.key_order(part, q));
    }
  }

  // The likeliest to be fast, by their parts' own times.
  std::vector<Assignment> assignments() {
    std::vector<Assignment> all;
    const std::size_t parts = parts_.size(), orders = queries_.size();
    const double heads = static_cast<double>(std::max<Int>(request_.heads * request_.batch, 1));
    const double second_pass =
        (costs_.chaining(request_.query_length) + costs_.launch_seconds / heads) * costs_.processors;
    const auto consider = [&](const std::vector<std::size_t>& order, double seconds) {
      for (std::size_t part = 0; part < parts; ++part) seconds += keys_[part][order[part]].seconds;
      all.push_back({order, seconds});
    };
    for (std::size_t a = 0; a < orders; ++a) {
      consider(std::vector<std::size_t>(parts, a), search_.starts(queries_[a]));
      for (std::size_t b = 0; space_.chained && b < orders && parts > 1; ++b)
        for (unsigned of_b = 1; b != a && of_b + 1 < 1u << parts; ++of_b) {
          std::vector<std::size_t> order(parts, a);
          for (std::size_t part = 0; part < parts; ++part)
            if (of_b >> part & 1) order[part] = b;
          consider(order, search_.starts(queries_[a]) + search_.starts(queries_[b]) + second_pass);
        }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Assignment& a, const Assignment& b) { return a.seconds < b.seconds; });
    if (all.size() > kBuilt) all.resize(kBuilt);
    return all;
  }

  std::vector<PassChoice> passes(const Assignment& assignment) {
    std::vector<PassChoice> passes;
    std::map<std::size_t, std::vector<std::size_t>> by_order;
    for (std::size_t part = 0; part < parts_.size(); ++part) by_order[assignment.order[part]].push_back(part);
    std::optional<Pointwise> covered;
    for (const auto& [order, members] : by_order) {
      PassChoice pass;
      pass.queries = queries_[order];
      std::map<std::string, std::vector<std::size_t>> by_keys;
      for (std::size_t part : members) by_keys[mask::to_string(keys_[part][order].order)].push_back(part);
      for (const auto& [name, together] : by_keys) {
        const KeyChoice& keys = keys_[together[0]][order];
        Pointwise sum = parts_[together[0]];
        for (std::size_t i = 1; i < together.size(); ++i) sum = either(sum, parts_[together[i]]);
        const bool all = together.size() == parts_.size();
        SourceChoice source{nullptr, keys.order, together.size() == 1 ? keys.anchor : Anchor::grid};
        if (!all) source.part = std::make_shared<const Pointwise>(covered ? both(sum, negated(*covered)) : sum);
        covered = covered ? either(*covered, sum) : sum;
        pass.sources.push_back(std::move(source));
      }
      passes.push_back(std::move(pass));
    }
    return passes;
  }

  const Pointwise& predicate_;
  const PlanRequest& request_;
  const TargetCosts& costs_;
  PlanSpace space_;
  std::vector<Pointwise> parts_;
  OrderSearch search_;
  std::vector<QueryChoice> queries_;
  std::vector<std::vector<KeyChoice>> keys_;  // [part][query order]
};

}  // namespace

double RankedPlan::tiles_a_query_tile() const {
  double visited = 0, most = 0;
  for (const RankedPass& pass : passes)
    for (const RankedSource& source : pass.sources)
      visited += source.tally.visited, most = std::max(most, source.tally.query_tiles);
  return most > 0 ? visited / most : 0;
}

double RankedPlan::full_share() const {
  double visited = 0, full = 0;
  for (const RankedPass& pass : passes)
    for (const RankedSource& source : pass.sources) visited += source.tally.visited, full += source.tally.full;
  return visited > 0 ? full / visited : 0;
}

double live_pairs(const Pointwise& predicate, const PlanRequest& request) {
  Expressions e(predicate, request.scalars);
  const Expressions::Id root = e.body(bound_positions(request, 0, 0), true);
  const auto units = [](const std::vector<Int>& weights) {
    Order order;
    for (Int weight : weights) order.digits.push_back({weight, 1, 0});
    return order;
  };
  const OrderCandidates queries = order_candidates(e, root, 0, request.query_length, request.key_length),
                        keys = order_candidates(e, root, 1, request.query_length, request.key_length);
  for (const bool product : {true, false})  // exact, or at least told by the hulls of single rows
    for (const std::vector<Int>& q : queries.systems)
      for (const std::vector<Int>& k : keys.systems) {
        const Order rows = units(q), columns = units(k);
        TileCounter counter(e, root, {rows, request.query_length}, {columns, request.key_length});
        if (product ? counter.separable() : q == k && counter.cheap(rows, columns))
          return counter.count(rows, columns, Anchor::grid, kCountedRows).visited;
      }
  TileCounter counter(e, root, TokenOrder(request.query_length), TokenOrder(request.key_length));
  return counter.count(Order::identity(1), Order::identity(1), Anchor::grid, kLiveRows).visited;
}

std::vector<RankedPlan> rank_plans(const Pointwise& predicate, const PlanRequest& request, const TargetCosts& costs,
                                   const PlanSpace& space) {
  return Ranking(predicate, request, costs, space).run();
}

std::vector<RankedPlan> candidate_plans(const Pointwise& predicate, const PlanRequest& request,
                                        const TargetCosts& costs, std::size_t most) {
  OrderSearch search(predicate, {predicate}, request, costs);
  Rater rater(predicate, request, costs, live_pairs(predicate, request));
  std::vector<RankedPlan> plans;
  for (const QueryChoice& queries : search.query_orders(0, most)) {
    const KeyChoice keys = search.key_order(0, queries);
    plans.push_back(rater.rate(whole(queries, keys.order, keys.anchor)));
  }
  std::stable_sort(plans.begin(), plans.end(),
                   [](const RankedPlan& a, const RankedPlan& b) { return a.seconds < b.seconds; });
  return plans;
}

RankedPlan rate_plan(const Pointwise& predicate, const PlanRequest& request, const TargetCosts& costs,
                     const Order& queries, int rows, const Order& keys, Anchor anchor) {
  Rater rater(predicate, request, costs, live_pairs(predicate, request));
  return rater.rate(whole({queries, rows, 0}, keys, anchor));
}

std::string to_string(const RankedPlan& plan) {
  std::string text;
  for (std::size_t p = 0; p < plan.passes.size(); ++p) {
    text += fmt::format("{}Q{}/{}", p ? " >> " : "", to_string(plan.plan.passes[p].queries), plan.passes[p].rows);
    for (const Source& source : plan.plan.passes[p].sources)
      text += fmt::format(" K{}{}", to_string(source.keys), source.anchor == Anchor::row ? "@" : "");
  }
  return text;
}

}  // namespace tessera::mask
