// Control flow and memory of a kernel's trace: which tiles a load names, what a store may write, when a region ends.
#include <algorithm>

#include <tessera/dsl/lang/trace.h>

namespace tessera::detail {

namespace {

std::string where_at(SourceLoc loc) { return loc ? " at " + to_string(loc) : std::string(); }

bool listed(const std::vector<ir::Dim>& dims, ir::Axis axis) {
  return std::any_of(dims.begin(), dims.end(), [&](const ir::Dim& d) { return d.axis == axis; });
}

bool given(std::span<const TileRef> tiles, ir::Axis axis) {
  return std::any_of(tiles.begin(), tiles.end(), [&](const TileRef& t) { return t.axis == axis; });
}

// A whole axis and a tile of it must not meet: they have one name and different extents.
void refuse_whole(const Trace& trace, const std::string& construct, const std::vector<ir::Dim>& dims,
                  std::span<const TileRef> tiles, SourceLoc loc) {
  for (const Trace::Region& region : trace.regions()) {
    if (!region.axis || !listed(dims, region.axis) || given(tiles, region.axis)) continue;
    throw UserError(loc,
                    construct + " takes the whole axis " + region.axis.name() + ", which the loop" +
                        where_at(region.loc) + " walks in tiles",
                    "pass the loop's tile, as in load(a.k, t), or move this out of the loop");
  }
}

std::vector<ir::Value> tile_values(const Trace& trace, std::span<const TileRef> tiles, SourceLoc loc) {
  std::vector<ir::Value> values;
  for (const TileRef& t : tiles) values.push_back(trace.use(t.handle, loc));
  return values;
}

// Traces `body` as a region of the enclosing builder. `indexed` regions have a loop index or tile before the carried
// values.
ir::Builder::Body region(Trace& trace, const Body& body, const std::vector<std::vector<ir::Dim>>& order, bool indexed,
                         ir::Axis axis, SourceLoc loc) {
  return [&trace, &body, &order, indexed, axis, loc](ir::Builder& builder, std::span<const ir::Value> args) {
    trace.enter(builder, axis, indexed, loc);
    struct Leave {
      Trace& trace;
      ~Leave() { trace.leave(); }
    } leave{trace};
    std::vector<Handle> handles;
    for (ir::Value v : args) handles.push_back(trace.made(v));
    const Handle index = indexed ? handles.front() : Handle{};
    const std::vector<Handle> out = body(index, std::span(handles).subspan(indexed ? 1 : 0));
    std::vector<ir::Value> yields;
    for (std::size_t i = 0; i < out.size(); ++i) yields.push_back(in_order(out[i], order[i], loc).value);
    return yields;
  };
}

std::vector<std::vector<ir::Dim>> orders(const Trace& trace, std::span<const Handle> init) {
  std::vector<std::vector<ir::Dim>> order;
  for (Handle h : init) order.push_back(trace.type(h).dims);
  return order;
}

std::vector<Handle> results(const Trace& trace, const std::vector<ir::Value>& values) {
  std::vector<Handle> handles;
  for (ir::Value v : values) handles.push_back(trace.made(v));
  return handles;
}

// The innermost region is the loop's, whose body has been traced.
void require_heeded_mask(const Trace& trace, ir::Axis axis, SourceLoc loc) {
  if (trace.regions().back().heeds_mask) return;
  throw UserError(
      loc,
      "the body of over<" + axis.name() +
          ">(mask, ...) never reads t.allowed: in tiles that the mask allows in part, what it forbids would "
          "count as well",
      "choose by it: where(t.allowed, x, -inf) before a softmax, where(t.allowed, x, 0) before a sum; or say "
      "t.ignore_mask() if all of a visited tile is to count");
}

}  // namespace

Handle load(int param, std::vector<ir::Dim> dims, std::span<const TileRef> tiles, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "load");
  const ir::Param& p = trace.program().kernel.params[static_cast<std::size_t>(param)];
  refuse_whole(trace, "load of '" + p.name + "'", dims, tiles, loc);
  const std::vector<ir::Value> coordinates = tile_values(trace, tiles, loc);
  return trace.made(trace.builder(loc).load(param, ir::Type::tile(p.dtype, std::move(dims)), coordinates));
}

void store(int param, Handle value, std::span<const TileRef> tiles, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "store");
  const ir::Param& p = trace.program().kernel.params[static_cast<std::size_t>(param)];
  std::vector<ir::Dim> dims;
  for (ir::Axis axis : p.axes) dims.push_back({axis, 0});
  refuse_whole(trace, "store to '" + p.name + "'", dims, tiles, loc);
  for (const Trace::Region& region : trace.regions()) {
    if (!region.repeats || (region.axis && given(tiles, region.axis))) continue;
    throw UserError(
        loc,
        "store to '" + p.name + "' inside the loop" + where_at(region.loc) + " writes the same elements on every trip",
        "store after the loop, or pass the loop's tile of an axis that '" + p.name + "' has");
  }
  for (const Trace::Stored& earlier : trace.stores) {
    if (earlier.param != param || !trace.active(earlier.region)) continue;
    throw UserError(loc, "'" + p.name + "' is stored twice, first at " + to_string(earlier.loc),
                    "combine the values with where(...) and store once");
  }
  const ir::Value v = in_order(value, dims, loc).value;
  const std::vector<ir::Value> coordinates = tile_values(trace, tiles, loc);
  trace.builder(loc).store(param, v, coordinates);
  trace.stores.push_back({param, trace.regions().back().id, loc});
}

std::vector<Handle> over(ir::Axis axis, int function, const Handle* bound, std::vector<Handle> init, const Names& names,
                         const Body& body, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "over");
  for (const Trace::Region& outer : trace.regions()) {
    if (!(outer.axis == axis) || !axis) continue;
    throw UserError(loc,
                    "a loop over the tiles of " + axis.name() + " inside another" + where_at(outer.loc) + ": " +
                        axis.name() + " would mean two different tiles",
                    "carry what the inner loop needs, or give the inner loop's tensors an axis of their own");
  }
  for (ir::Axis a : trace.program().kernel.grid) {
    if (!(a == axis)) continue;
    throw UserError(
        loc, "a loop over the tiles of " + axis.name() + ", which is on the kernel's grid",
        "a program computes one tile of a grid axis: take " + axis.name() + " off the grid to loop over it");
  }
  const std::vector<ir::Value> values = trace.use(init, loc);
  const ir::Value limit = bound ? trace.use(*bound, loc) : ir::Value{};
  const auto order = orders(trace, init);
  const Body heeding = [&](Handle tile, std::span<const Handle> carried) {
    std::vector<Handle> out = body(tile, carried);
    if (function >= 0) require_heeded_mask(trace, axis, loc);
    return out;
  };
  return results(trace, trace.builder(loc).over(axis, function, limit, values, names,
                                                region(trace, heeding, order, true, axis, loc)));
}

std::vector<Handle> loop(Handle lo, Handle hi, std::vector<Handle> init, const Names& names, const Body& body,
                         SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "loop");
  const ir::Value from = trace.use(lo, loc), to = trace.use(hi, loc);
  const std::vector<ir::Value> values = trace.use(init, loc);
  const auto order = orders(trace, init);
  return results(trace, trace.builder(loc).loop(from, to, values, names, region(trace, body, order, true, {}, loc)));
}

std::vector<Handle> when(Handle condition, std::vector<Handle> init, const Names& names, const Body& body,
                         SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "when");
  const ir::Value test = trace.use(condition, loc);
  const std::vector<ir::Value> values = trace.use(init, loc);
  const auto order = orders(trace, init);
  return results(trace, trace.builder(loc).when(test, values, names, region(trace, body, order, false, {}, loc)));
}

}  // namespace tessera::detail
