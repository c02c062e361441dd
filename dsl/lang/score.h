// Score maps: what happens to the score of a query and a key after the scale and before the mask. Several are applied
// from left to right.
//
//   Score cap = [](ScoreValue s, Position q, Position k) { return 30.0 * tanh(s / 30.0); };
//   Score far = [m](ScoreValue s, Position q, Position k, At at) { return s - m[at.head] * cast<f32>(q - k); };
//
// In a kernel: Tile<f32, Query, Key> x = apply(scores, t, dot(q, k) * a.scale);
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tessera/dsl/lang/mask.h>

namespace tessera {

// The score of one query and one key.
using ScoreValue = Tile<f32>;

class Score;

namespace detail {
template <class F>
concept OfScore = std::is_invocable_v<const F&, ScoreValue, Position, Position>;
template <class F>
concept OfScoreAt = std::is_invocable_v<const F&, ScoreValue, Position, Position, At>;
template <class F>
concept ScoreLambda = std::is_class_v<F> && !std::same_as<F, Score> && !std::same_as<F, Mask> &&
                      (PlainCall<F> || OfScore<F> || OfScoreAt<F>);
}  // namespace detail

class Score {
 public:
  explicit Score(mask::Pointwise map) : map_(std::make_shared<const mask::Pointwise>(std::move(map))) {}

  template <class F>
    requires detail::ScoreLambda<F>
  Score(const F& f, SourceLoc loc = SourceLoc::here()) {
    detail::FunctionTrace trace("score", true, loc);
    const Position q = Mask::argument(trace, ir::Function::q), k = Mask::argument(trace, ir::Function::k);
    const ScoreValue s = ScoreValue::of(trace.argument(ir::Function::kPositions));
    if constexpr (detail::OfScore<F>) {
      finish(trace, f(s, q, k), loc);
    } else if constexpr (detail::OfScoreAt<F>) {
      finish(trace, f(s, q, k, Mask::at(trace)), loc);
    } else {
      static_assert(detail::never<F>,
                    "a score is a lambda of (ScoreValue s, Position q, Position k), with a fourth parameter At at if "
                    "it needs head, batch "
                    "or lengths");
    }
  }

  Score named(std::string name, SourceLoc loc = SourceLoc::here()) const;
  const mask::Pointwise& map() const { return *map_; }
  const std::shared_ptr<const mask::Pointwise>& shared() const { return map_; }

 private:
  template <class R>
  void finish(detail::FunctionTrace& trace, const R& result, SourceLoc loc) {
    if constexpr (!Expression<R>) {
      static_assert(detail::never<R>, "a score returns the new score, an f32 value");
    } else {
      static_assert(R::dtype == f32, "a score returns the new score, an f32 value: cast it, as in cast<f32>(q - k)");
      take(trace, result.lower(loc));
    }
  }
  void take(detail::FunctionTrace& trace, detail::Handle result);

  std::shared_ptr<const mask::Pointwise> map_;
};

class Scores {
 public:
  Scores() = default;
  Scores(std::initializer_list<Score> scores) : scores_(scores) {}
  Scores(std::vector<Score> scores) : scores_(std::move(scores)) {}

  bool empty() const { return scores_.empty(); }
  auto begin() const { return scores_.begin(); }
  auto end() const { return scores_.end(); }

 private:
  std::vector<Score> scores_;
};

// x after every score, left to right, at the positions of tile t.
template <AxisType A, class E>
  requires Expression<detail::Plain<E>>
auto apply(const Scores& scores, const TileIndex<A>& t, E&& x, SourceLoc loc = SourceLoc::here()) {
  using X = detail::Plain<E>;
  static_assert(check::UsedOnce<E>::ok);
  static_assert(X::dtype == f32, "apply: scores map f32 values: cast<f32>(x)");
  static_assert(detail::same_axes<typename X::axes, Axes<Query, Key>>,
                "apply: scores map a tile with the axes Query and Key");
  detail::Handle h = x.lower(loc);
  for (const Score& score : scores) h = detail::apply(score.shared(), t.handle(), h, loc);
  return detail::tile_of<X>::of(h);
}

}  // namespace tessera
