// Stage traced: where tiles lie, and scalar functions of positions applied to whole tiles.
#include <algorithm>

#include <fmt/format.h>
#include <tessera/dsl/ir/interpret_machine.h>

namespace tessera::ir::interp {

// The tile of `axis` that code computes on here: the program's of a grid axis, the loop's of a looped one, else all of
// it. It ends where the axis does, so nothing outside an axis ever takes part in anything.
Machine::Window Machine::window(Axis axis) const {
  const auto looped =
      std::find_if(windows_.rbegin(), windows_.rend(), [axis](const Window& w) { return w.axis == axis; });
  if (looped != windows_.rend()) return *looped;
  const Launch& launch = *program_.launch;
  const std::vector<Axis>& grid = launch.kernel->grid;
  const std::int64_t length = launch.binding->length(axis);
  if (std::find(grid.begin(), grid.end(), axis) == grid.end()) return {axis, 0, static_cast<int>(length)};
  const bool outer = std::find(launch.outer.begin(), launch.outer.end(), axis) != launch.outer.end();
  const std::int64_t tile = outer ? 1 : launch.tile, start = id(axis) * tile;
  return {axis, start, static_cast<int>(std::min(tile, length - start))};
}

Tile Machine::position(Axis axis) const {
  const Window at = window(axis);
  Tile tile(DType::i32, {{axis, at.extent}});
  for (int i = 0; i < at.extent; ++i) tile.data<std::int32_t>()[i] = static_cast<std::int32_t>(at.start + i);
  return tile;
}

Axis Machine::query_axis() const { return ir::query_axis(*program_.launch->kernel); }

const Machine::Frame& Machine::over_of(Value handle) const {
  for (std::size_t i = frames_.size(); i-- > 0;) {
    const Frame& frame = frames_[i];
    if (frame.owner && frame.owner->code == OpCode::over && frame.block->args[0] == handle) return frame;
  }
  throw InternalError("the handle of a tile is used outside the loop over it");
}

Tile Machine::call(int function, std::vector<Item> arguments) {
  const Kernel& kernel = *program_.launch->kernel;
  const std::vector<Function>& functions = kernel.functions;
  const auto f = static_cast<std::size_t>(function);
  ensure(f < functions.size(), "a mask or score function is called that the kernel does not have");
  functions_.resize(functions.size());
  if (!functions_[f]) {
    std::size_t first = kernel.params.size();
    for (std::size_t i = 0; i < f; ++i) first += functions[i].params.size();
    functions_[f] = std::make_unique<Machine>(program_, functions[f].graph, nullptr, first);
  }
  functions_[f]->start(functions[f].graph.entry, std::move(arguments));
  functions_[f]->run();
  ensure(functions_[f]->yielded().size() == 1, "a scalar function yields other than one value");
  return functions_[f]->yielded()[0].tile;
}

// Function::q to Function::key_length. A bound on the keys cuts them off and moves nothing: the key length stays the
// axis's.
std::vector<Item> Machine::positions(Axis query, const Frame& over) const {
  const Binding& binding = *program_.launch->binding;
  static const Axis head = Axis::named("Head"), batch = Axis::named("Batch");
  std::vector<Item> items(Function::kPositions);
  items[Function::q].tile = query ? position(query) : Tile::integer(0);
  items[Function::k].tile = position(over.owner->axis);
  items[Function::head].tile = Tile::integer(id(head));
  items[Function::batch].tile = Tile::integer(id(batch));
  items[Function::query_length].tile = Tile::integer(query ? binding.length(query) : 1);
  items[Function::key_length].tile = Tile::integer(binding.length(over.owner->axis));
  return items;
}

Tile Machine::mask_on(int function, Axis query, const Frame& over) {
  const Axis key = over.owner->axis;
  std::vector<Dim> dims;
  if (query) dims.push_back({query, window(query).extent});
  dims.push_back({key, window(key).extent});
  if (function < 0) return Tile::number(DType::i1, 1, dims);
  return call(function, positions(query, over)).packed(dims);
}

Tile Machine::allowed(const Op& op) {
  const Frame& over = over_of(op.operands[0]);
  Axis query;
  for (const Dim& dim : graph_.type(op.results[0]).dims) {
    if (!(dim.axis == over.owner->axis)) query = dim.axis;
  }
  if (over.allowed && over.owner->index == op.index && query == query_axis()) return *over.allowed;
  return mask_on(op.index, query, over);
}

Tile Machine::apply(const Op& op) {
  std::vector<Item> arguments = positions(query_axis(), over_of(op.operands[0]));
  for (std::size_t i = 1; i < op.operands.size(); ++i) arguments.push_back({tile(op, i)});
  return call(op.index, std::move(arguments)).repeated(tile(op, 1).dims());
}

}  // namespace tessera::ir::interp
