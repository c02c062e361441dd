#include <tessera/library/patterns/compose.h>

#include <algorithm>

#include <fmt/format.h>

#include <tessera/dsl/lang/table.h>
#include <tessera/library/patterns/support.h>

namespace tessera {

using pattern::kMost;
using pattern::require;

namespace {

void check_ring(const Ring& o, SourceLoc loc) {
  require(o.tokens > 0 && o.tokens <= kMost && o.ranks > 0, loc,
          fmt::format("{} tokens are spread over {} ranks", o.tokens, o.ranks),
          "give 1 to 2^31 - 1 tokens and 1 or more ranks");
  require(!o.zigzag || o.tokens % (2LL * o.ranks) == 0, loc,
          fmt::format("{} tokens do not make {} equal runs of a zigzag", o.tokens, 2LL * o.ranks),
          fmt::format("pad them to {}", (o.tokens / (2LL * o.ranks) + 1) * 2 * o.ranks));
}

// A table that the mask reads at a position itself has an element for each token of all ranks. In the ring's mask it is
// read at computed ones, of which no call can tell how far they go.
void check_tables(const mask::Pointwise& mask, std::int64_t tokens, SourceLoc loc) {
  const std::vector<ir::Value>& positions = mask.function.graph.entry.args;
  for (const ir::Op& op : mask.function.graph.entry.ops) {
    if (op.code != ir::OpCode::gather) continue;
    const auto& table = mask.captures[static_cast<std::size_t>(op.index)].table;
    for (std::size_t d = 0; table && d < op.operands.size(); ++d) {
      const bool by_token =
          op.operands[d] == positions[ir::Function::q] || op.operands[d] == positions[ir::Function::k];
      require(!by_token || table->shape()[d] == tokens, loc,
              fmt::format("table '{}' has {} entries, and all ranks together {} tokens",
                          mask.function.params[static_cast<std::size_t>(op.index)].name, table->shape()[d], tokens),
              fmt::format("make the mask for {} tokens", tokens));
    }
  }
}

// Where a rank's token stands among all. The first rank's do where they stand; but a table read at a position itself
// would have to be as long as the rank's axis, and is as long as all ranks'.
Position among_all(Position local, const Ring& o, std::int64_t rank) {
  if (!o.zigzag && rank == 0) return min(local, o.tokens - 1);
  if (!o.zigzag) return local + rank * ((o.tokens + o.ranks - 1) / o.ranks);
  const std::int64_t run = o.tokens / (2LL * o.ranks);
  return where(local < run, local + rank * run, local + (2 * o.ranks - 2 - rank) * run);
}

}  // namespace

Mask per_head(const std::vector<Mask>& masks, const std::vector<int>& choice, SourceLoc loc) {
  require(!masks.empty() && !choice.empty(), loc,
          fmt::format("there are {} masks for {} heads", masks.size(), choice.size()),
          "give one or more masks, and the number of one for each head");
  for (std::size_t h = 0; h < choice.size(); ++h)
    require(choice[h] >= 0 && choice[h] < static_cast<int>(masks.size()), loc,
            fmt::format("head {} has mask {}, and there are {}", h, choice[h], masks.size()),
            fmt::format("give 0 to {}", masks.size() - 1));
  Table chosen = Table<i32>(choice, loc).named("mask_of_head");
  auto predicate = [&](Position q, Position k, At at) {
    Position number = chosen[at.head];
    Tile<i1> seen = number == 0 && masks[0](q, k, at, loc);
    for (std::size_t i = 1; i < masks.size(); ++i)
      seen = seen || (number == static_cast<int>(i) && masks[i](q, k, at, loc));
    return seen;
  };
  return Mask(predicate, loc).named("per_head");
}

std::int64_t ring_tokens(const Ring& o, int rank, SourceLoc loc) {
  check_ring(o, loc);
  require(rank >= 0 && rank < o.ranks, loc, fmt::format("the rank is {} of {}", rank, o.ranks),
          fmt::format("give 0 to {}", o.ranks - 1));
  if (o.zigzag) return o.tokens / o.ranks;
  const std::int64_t run = (o.tokens + o.ranks - 1) / o.ranks;
  return std::clamp<std::int64_t>(o.tokens - rank * run, 0, run);
}

Mask ring(const Mask& mask, const Ring& o, SourceLoc loc) {
  const std::int64_t queries = ring_tokens(o, o.query_rank, loc), keys = ring_tokens(o, o.key_rank, loc);
  mask::check_lengths(mask.predicate(), o.tokens, o.tokens, loc);
  check_tables(mask.predicate(), o.tokens, loc);
  auto predicate = [&](Position q, Position k, At at) {
    const Position tokens = o.tokens;
    return mask(among_all(q, o, o.query_rank), among_all(k, o, o.key_rank), At{at.head, at.batch, tokens, tokens}, loc);
  };
  mask::Pointwise local = Mask(predicate, loc).predicate();
  local.lengths.clear();  // those of the mask over all tokens, which these are
  return Mask(std::move(local))
      .named("ring")
      .for_lengths(fmt::format("rank {} of {} over keys of rank {}", o.query_rank, o.ranks, o.key_rank),
                   mask::Extent::exactly(queries), mask::Extent::exactly(keys));
}

}  // namespace tessera
