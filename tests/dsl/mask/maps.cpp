#include "maps.h"

#include <tessera/dsl/ir/fold.h>
#include <tessera/dsl/mask/expression.h>

namespace tessera::testing {

namespace {

TileMap empty_map(const mask::PlanRequest& r) {
  TileMap map;
  map.query_tiles = (r.query_length + r.query_tile - 1) / r.query_tile;
  map.key_tiles = (r.key_length + r.key_tile - 1) / r.key_tile;
  map.tiles.assign(static_cast<std::size_t>(map.query_tiles * map.key_tiles), kEmpty);
  return map;
}

std::int64_t bound_of(const mask::PlanRequest& r, std::int64_t batch) {
  return r.key_lengths.empty() ? r.key_length : r.key_lengths[static_cast<std::size_t>(batch)];
}

void put(TileMap& map, std::int64_t q, std::int64_t k, Tile kind) {
  if (k < 0 || k >= map.key_tiles || map.at(q, k) != kEmpty)
    ++map.faults;
  else
    map.at(q, k) = kind;
}

}  // namespace

std::vector<std::int64_t> run(const ir::Function& f, const std::vector<std::int64_t>& arguments,
                              const mask::Pointwise& mask, const std::vector<mask::NamedScalar>& scalars) {
  std::vector<double> value(f.graph.values.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    value[f.graph.entry.args[i].id] = static_cast<double>(arguments[i]);
  for (const ir::Op& op : f.graph.entry.ops) {
    const auto in = [&](std::size_t i) { return i < op.operands.size() ? value[op.operands[i].id] : 0; };
    if (op.code == ir::OpCode::yield) {
      std::vector<std::int64_t> results;
      for (std::size_t i = 0; i < op.operands.size(); ++i) results.push_back(static_cast<std::int64_t>(in(i)));
      return results;
    }
    double& out = value[op.results[0].id];
    if (op.code == ir::OpCode::constant) {
      out = op.number;
    } else if (op.code == ir::OpCode::scalar) {
      out = mask.captures[static_cast<std::size_t>(op.index)].value;
      for (const mask::NamedScalar& s : scalars)
        if (s.name == f.params[static_cast<std::size_t>(op.index)].name) out = s.value;
    } else if (op.code == ir::OpCode::gather) {
      std::vector<std::int64_t> at;
      for (std::size_t i = 0; i < op.operands.size(); ++i) at.push_back(static_cast<std::int64_t>(in(i)));
      out = mask.captures[static_cast<std::size_t>(op.index)].table->at(at);
    } else {
      out = ir::evaluate(op.code, f.graph.type(op.operands.back()).dtype, f.graph.type(op.results[0]).dtype, in(0),
                         in(1), in(2));
    }
  }
  return {};
}

Oracle::Oracle(const mask::Pointwise& mask, const mask::PlanRequest& r, std::int64_t head, std::int64_t batch)
    : queries_(r.query_length), keys_(r.key_length), bound_(bound_of(r, batch)) {
  mask::Expressions e(mask, r.scalars);
  mask::PointProgram program(e, e.body({}, true));
  live_.resize(static_cast<std::size_t>(queries_ * keys_), 0);
  for (std::int64_t q = 0; q < queries_; ++q)
    for (std::int64_t k = 0; k < bound_; ++k)
      live_[static_cast<std::size_t>(q * keys_ + k)] = program.test({q, k, head, batch, queries_, keys_, 0, 0, 0});
}

TileMap Oracle::tiles(int query_tile, int key_tile) const {
  mask::PlanRequest r;
  r.query_length = queries_, r.key_length = keys_, r.query_tile = query_tile, r.key_tile = key_tile;
  TileMap map = empty_map(r);
  for (std::int64_t i = 0; i < map.query_tiles; ++i)
    for (std::int64_t j = 0; j < map.key_tiles; ++j) {
      bool any = false, all = (j + 1) * key_tile <= bound_;
      for (std::int64_t q = i * query_tile; q < std::min(queries_, (i + 1) * query_tile) && (!any || all); ++q)
        for (std::int64_t k = j * key_tile; k < std::min(bound_, (j + 1) * key_tile) && (!any || all); ++k)
          any |= live(q, k), all &= live(q, k);
      map.at(i, j) = !any ? kEmpty : all ? kFull : kPartial;
    }
  return map;
}

TileMap visited(const mask::Plan& plan, const mask::Pointwise& mask, const mask::PlanRequest& r, std::int64_t head,
                std::int64_t batch) {
  TileMap map = empty_map(r);
  const mask::Source& source = plan.passes.at(0).sources.at(0);
  for (std::int64_t q = 0; q < map.query_tiles; ++q) {
    if (const auto* spans = std::get_if<mask::Spans>(&source.schedule)) {
      const std::int64_t first = q * r.query_tile, last = std::min(first + r.query_tile, r.query_length) - 1;
      const std::vector<std::int64_t> at = run(
          spans->bounds, {first, last, head, batch, r.query_length, r.key_length, bound_of(r, batch)}, mask, r.scalars);
      for (std::size_t s = 0; s + 3 < at.size(); s += 4) {
        if (at[s] > at[s + 1] || at[s + 1] > at[s + 2] || at[s + 2] > at[s + 3]) ++map.faults;
        for (std::int64_t k = at[s]; k < at[s + 3]; ++k)
          put(map, q, k, k >= at[s + 1] && k < at[s + 2] ? kFull : kPartial);
      }
    } else {
      const auto& list = std::get<mask::TileList>(source.schedule);
      const std::int64_t of =
          list.class_of.empty() ? 0 : list.class_of[static_cast<std::size_t>(batch * r.heads + head)];
      const std::int32_t* row =
          &list.rows[mask::TileList::kFields * static_cast<std::size_t>(of * map.query_tiles + q)];
      for (std::int32_t i = 0; i < row[1] + row[2]; ++i) {
        const std::int32_t* tile = &list.tiles[static_cast<std::size_t>(row[0] + i)];
        if (i != 0 && i != row[1] && tile[-1] >= tile[0]) ++map.faults;
        put(map, row[3], *tile, i < row[1] ? kPartial : kFull);
      }
    }
  }
  return map;
}

Difference compare(TileMap got, TileMap want) {
  Difference d;
  d.unsound += got.faults;
  for (std::size_t i = 0; i < got.tiles.size(); ++i) {
    if (got.tiles[i] == want.tiles[i]) continue;
    if (want.tiles[i] == kEmpty && got.tiles[i] == kPartial)
      ++d.kept;
    else if (want.tiles[i] == kFull && got.tiles[i] == kPartial)
      ++d.lost;
    else
      ++d.unsound;
  }
  return d;
}

}  // namespace tessera::testing
