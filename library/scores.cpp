#include <tessera/library/scores.h>

#include <cmath>

#include <fmt/format.h>

namespace tessera {

Score softcap(double cap, SourceLoc loc) {
  if (!(cap > 0) || !std::isfinite(cap))
    throw UserError(loc, fmt::format("the cap is {}", cap), "give a positive number");
  return Score([=](ScoreValue s, Position, Position) { return tanh(s * (1 / cap)) * cap; }, loc).named("softcap");
}

Score alibi(const std::vector<float>& slopes, Align align, SourceLoc loc) {
  if (slopes.empty()) throw UserError(loc, "there are 0 slopes", "give one a query head");
  Table<f32> slope = Table<f32>(slopes, loc).named("slope");
  auto map = [=](ScoreValue s, Position q, Position k, At at) {
    Position own = align == Align::bottom_right ? Position(q + (at.key_length - at.query_length)) : q;
    return s - slope[at.head] * cast<f32>(abs(own - k));
  };
  return Score(map, loc).named("alibi");
}

Score alibi(int heads, Align align, SourceLoc loc) { return alibi(alibi_slopes(heads, loc), align, loc); }

// 2^(-8 i / n) for the largest power of two n within `heads`; the heads beyond take every other slope of the series for
// 2n.
std::vector<float> alibi_slopes(int heads, SourceLoc loc) {
  if (heads <= 0) throw UserError(loc, fmt::format("there are {} heads", heads), "give 1 or more");
  int power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<float> slopes;
  for (int i = 1; i <= power; ++i) slopes.push_back(static_cast<float>(std::exp2(-8.0 * i / power)));
  for (int i = 1; static_cast<int>(slopes.size()) < heads; i += 2) {
    slopes.push_back(static_cast<float>(std::exp2(-8.0 * i / (2 * power))));
  }
  return slopes;
}

Score dense_bias(const std::string& name, SourceLoc loc) {
  Table<f32, 4> bias(name, loc);
  return Score([=](ScoreValue s, Position q, Position k, At at) { return s + bias(at.batch, at.head, q, k); }, loc)
      .named("dense_bias");
}

}  // namespace tessera
