#include <tessera/library/choose_tile.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace tessera::library {

namespace {

int extent_of(const passes::Tiling& tiling, const char* axis) {
  for (const ir::Dim& whole : tiling.whole)
    if (whole.axis == ir::Axis::named(axis)) return whole.extent;
  throw InternalError(std::string("an attention program without an extent of ") + axis);
}

// Lengths at which candidates are compared: long enough that masks show what most of their tiles are.
constexpr std::int64_t kTokens = 16384;

bool reads_tables(const mask::Pointwise& predicate) {
  const std::vector<ir::Param>& params = predicate.function.params;
  return std::any_of(params.begin(), params.end(), [](const ir::Param& p) { return p.kind == ir::ParamKind::table; });
}

// Time of all tiles of one head, in units of the candidates' costs; nothing where no closed form of one run of keys
// counts them, as with tables, which have lengths of their own.
std::optional<double> cost(const backend::TileCandidate& candidate, const TracedProgram& program) {
  if (reads_tables(*program.mask)) return std::nullopt;
  PlanInput input;
  input.shapes = {.query_length = kTokens, .key_length = kTokens};
  input.tile = candidate.tile;
  const mask::PlanRequest request = request_of(input);
  if (!mask::spans_hold(*program.mask, request)) return std::nullopt;
  const mask::Plan plan = mask::make_plan(*program.mask, request);
  double sum = 0;
  for (const mask::Pass& pass : plan.passes)
    for (const mask::Source& source : pass.sources) {
      if (std::get<mask::Spans>(source.schedule).count > 1) return std::nullopt;
      sum += candidate.full * static_cast<double>(source.counts.full) +
             candidate.partial * static_cast<double>(source.counts.partial);
    }
  const std::int64_t query_tiles = (kTokens + candidate.tile.query - 1) / candidate.tile.query;
  return sum + backend::kStart * candidate.full * static_cast<double>(query_tiles);
}

}  // namespace

backend::TileShape choose_tile(backend::TileShape wanted, const TracedProgram& program, const backend::Target& target) {
  if (wanted.query != 0 && wanted.key != 0) return wanted;
  std::vector<backend::TileCandidate> candidates =
      backend::tile_candidates(extent_of(program.tiling, "Depth"), extent_of(program.tiling, "Value"), target);
  for (backend::TileCandidate& candidate : candidates) {
    if (wanted.query != 0) candidate.tile.query = wanted.query;
    if (wanted.key != 0) candidate.tile.key = wanted.key;
  }
  backend::TileShape best = candidates[0].tile;
  const bool scores = program.traced.functions.size() > (program.mask ? 1 : 0);
  if (candidates.size() == 1 || !program.mask || program.bounded || scores) return best;
  double least = std::numeric_limits<double>::infinity();
  for (const backend::TileCandidate& candidate : candidates) {
    const std::optional<double> time = cost(candidate, program);
    if (!time) return candidates[0].tile;
    if (*time < least) least = *time, best = candidate.tile;
  }
  return best;
}

}  // namespace tessera::library
