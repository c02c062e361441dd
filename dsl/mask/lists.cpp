#include <tessera/dsl/mask/lists.h>

#include <map>

#include <tessera/dsl/mask/tile_map.h>
#include <tessera/dsl/mask/work_order.h>

namespace tessera::mask {

using Id = Expressions::Id;

namespace {

constexpr unsigned kVaries = Expressions::on(at_head) | Expressions::on(at_batch);

const Pointwise& share_of(const Source& source, const Pointwise& predicate) {
  return source.part ? *source.part : predicate;
}

struct Classes {
  std::vector<std::int32_t> of;                                // [batch * heads + head]
  std::vector<std::pair<std::int64_t, std::int64_t>> members;  // one (batch, head) of each class
  std::vector<Int> sizes;
};

Classes classes_of(const Pass& pass, const Pointwise& predicate, const PlanRequest& r) {
  PositionValues lengths{};
  lengths[at_query_length] = r.query_length, lengths[at_key_length] = r.key_length;
  std::vector<Expressions> shares;
  unsigned depends = 0;
  for (const Source& source : pass.sources) {
    Expressions& e = shares.emplace_back(share_of(source, predicate), r.scalars);
    depends |= e[e.body(lengths, true)].depends & kVaries;
  }
  using Folded = std::vector<Id>;  // of each source
  std::map<std::pair<Folded, Int>, std::int32_t> index;
  std::map<std::pair<std::int64_t, std::int64_t>, Folded> folded;  // by the coordinates that matter
  Classes classes;
  for (std::int64_t b = 0; b < r.batch; ++b)
    for (std::int64_t h = 0; h < r.heads; ++h) {
      const std::pair key{depends & Expressions::on(at_batch) ? b : 0, depends & Expressions::on(at_head) ? h : 0};
      auto [roots, fresh] = folded.try_emplace(key);
      for (std::size_t i = 0; fresh && i < shares.size(); ++i)
        roots->second.push_back(shares[i].body(bound_positions(r, key.first, key.second), true));
      const auto next = static_cast<std::int32_t>(classes.members.size());
      auto [it, added] = index.try_emplace({roots->second, key_bound(r, b)}, next);
      if (added) classes.members.emplace_back(b, h), classes.sizes.push_back(0);
      classes.of.push_back(it->second);
      ++classes.sizes[static_cast<std::size_t>(it->second)];
    }
  return classes;
}

// Rows of one class, in all lists.
void append_class(Pass& pass, const Pointwise& predicate, const PlanRequest& r, std::int64_t batch, std::int64_t head) {
  const TokenOrder queries(pass.queries, r.query_length);
  for (Source& source : pass.sources) {
    Expressions e(share_of(source, predicate), r.scalars);
    const Id root = e.body(bound_positions(r, batch, head), true);
    const TokenOrder keys(source.keys, key_bound(r, batch));
    BoxAnalysis analysis(e, root, {queries, keys});
    append_rows(analysis, queries, keys, std::get<TileList>(source.schedule));
  }
}

void count_rows(Source& source, std::size_t from, Int query_tiles, Int weight) {
  const TileList& list = std::get<TileList>(source.schedule);
  for (std::size_t i = from; i < list.rows.size() / TileList::kFields; ++i) {
    const TileList::Row row = list.row(i);
    source.counts.partial += weight * row.partials;
    source.counts.full += weight * row.fulls;
    if (2 * Int{row.query_tile} >= query_tiles) source.counts.later += weight * (row.partials + row.fulls);
  }
}

}  // namespace

void make_lists(Pass& pass, const Pointwise& predicate, const PlanRequest& r) {
  const Classes classes = classes_of(pass, predicate, r);
  const Int query_tiles = TokenOrder(pass.queries, r.query_length).tiles();
  std::vector<TileList*> lists;
  for (Source& source : pass.sources) {
    source.schedule = TileList{};
    source.counts = {};
    source.counts.total = query_tiles * TokenOrder(source.keys, r.key_length).tiles() * r.heads * r.batch;
    lists.push_back(&std::get<TileList>(source.schedule));
  }
  for (std::size_t c = 0; c < classes.members.size(); ++c) {
    const auto [b, h] = classes.members[c];
    const std::size_t from = c * static_cast<std::size_t>(query_tiles);
    append_class(pass, predicate, r, b, h);
    for (Source& source : pass.sources) count_rows(source, from, query_tiles, classes.sizes[c]);
    longest_first(lists, from);
  }
  for (Source& source : pass.sources) {
    source.counts.visited = source.counts.partial + source.counts.full;
    if (classes.members.size() > 1) std::get<TileList>(source.schedule).class_of = classes.of;
  }
  pass.order = work_order_of_list(r.key_length);
}

}  // namespace tessera::mask
