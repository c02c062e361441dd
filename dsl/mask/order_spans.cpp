#include <tessera/dsl/mask/order_spans.h>

#include <tessera/dsl/mask/digit_spans.h>
#include <tessera/dsl/mask/lists.h>
#include <tessera/dsl/mask/token_order.h>
#include <tessera/dsl/mask/work_order.h>

namespace tessera::mask {

namespace {

constexpr double kSlack = 1.05;
constexpr std::size_t kOfDigit = 5;  // values: start, begin, full_begin, full_end, end

// Without the starts, which are constants on a grid.
ir::Function tile_bounds(const ir::Function& spans) {
  ir::Function bounds = spans;
  std::vector<ir::Value>& yielded = bounds.graph.entry.ops.back().operands;
  std::vector<ir::Value> kept;
  for (std::size_t i = 0; i < yielded.size(); ++i)
    if (i % kOfDigit != 0) kept.push_back(yielded[i]);
  yielded = std::move(kept);
  return bounds;
}

class Counting {
 public:
  Counting(const DigitSpans& spans, const Pass& pass, const PlanRequest& request)
      : spans_(spans),
        request_(request),
        queries_(pass.queries, request.query_length),
        program_(*spans.expressions, spans.roots),
        at_(spans.roots.size()) {
    for (Expressions::Id id : spans.roots) depends_ |= (*spans.expressions)[id].depends;
    counts_.total =
        queries_.tiles() * TokenOrder(pass.sources[0].keys, request.key_length).tiles() * request.heads * request.batch;
  }

  Counts run() {
    const bool by_head = depends_ & Expressions::on(at_head),
               by_batch = !request_.key_lengths.empty() || depends_ & Expressions::on(at_batch);
    const Int weight = (by_head ? 1 : request_.heads) * (by_batch ? 1 : request_.batch);
    for (std::int64_t b = 0; b < (by_batch ? request_.batch : 1); ++b)
      for (std::int64_t h = 0; h < (by_head ? request_.heads : 1); ++h)
        for (Int t = 0; t < queries_.tiles(); ++t) count(t, b, h, weight);
    counts_.partial = counts_.visited - counts_.full;
    return counts_;
  }

 private:
  void count(Int tile, std::int64_t batch, std::int64_t head, Int weight) {
    std::array<Int, kPositionCount> positions{};
    positions[at_head] = head, positions[at_batch] = batch;
    positions[at_query_length] = request_.query_length, positions[at_key_length] = request_.key_length;
    positions[at_key_bound] = key_bound(request_, batch);
    const Digits at = queries_.coordinates(tile);
    for (int i = 0; i < queries_.digits(); ++i) {
      positions[static_cast<std::size_t>(first_of(i))] = queries_.first(i, at[static_cast<std::size_t>(i)]);
      positions[static_cast<std::size_t>(last_of(i))] = queries_.last(i, at[static_cast<std::size_t>(i)]);
    }
    program_.run(positions, at_.data());
    Int visited = weight, full = weight;
    for (std::size_t i = 0; i < at_.size(); i += kOfDigit) {
      visited *= static_cast<Int>(at_[i + 4] - at_[i + 1]);
      full *= static_cast<Int>(at_[i + 3] - at_[i + 2]);
    }
    counts_.visited += visited, counts_.full += full;
    if (2 * tile >= queries_.tiles()) counts_.later += visited;
  }

  const DigitSpans& spans_;
  const PlanRequest& request_;
  const TokenOrder queries_;
  PointProgram program_;
  std::vector<double> at_;
  unsigned depends_ = 0;
  Counts counts_;
};

}  // namespace

bool make_order_spans(Pass& pass, const Pointwise& predicate, const PlanRequest& request, double tiles) {
  if (pass.sources.size() != 1) return false;
  for (const ir::Param& param : predicate.function.params)
    if (param.kind == ir::ParamKind::scalar) return false;  // what a call gives may break a closed form
  for (const Capture& capture : predicate.captures)
    if (!capture.table) return false;  // nor is a table of the call there to be counted by
  if (request.query_length > kOpenLength || request.key_length > kOpenLength) return false;
  Source& source = pass.sources[0];
  std::string reason;
  const std::optional<DigitSpans> spans = digit_spans(predicate, pass.queries, source.keys, {}, reason);
  if (!spans || spans->boxes != 1) return false;
  const Counts counts = Counting(*spans, pass, request).run();
  if (static_cast<double>(counts.visited) > kSlack * tiles) return false;
  source.schedule = Spans{tile_bounds(spans->bounds), 1, !request.key_lengths.empty()};
  source.counts = counts;
  pass.order = work_order(counts);
  return true;
}

}  // namespace tessera::mask
