#include <algorithm>

#include <fmt/format.h>
#include <tessera/dsl/ir/interpret_elementwise.h>
#include <tessera/dsl/ir/interpret_machine.h>
#include <tessera/dsl/ir/interpret_tile.h>

namespace tessera::ir::interp {

std::int64_t Machine::id(Axis axis) const {
  const Kernel* kernel = program_.launch->kernel;
  if (!kernel) return 0;
  const auto found = std::find(kernel->grid.begin(), kernel->grid.end(), axis);
  return found == kernel->grid.end() ? 0 : ids_->at(static_cast<std::size_t>(found - kernel->grid.begin()));
}

void Machine::start(const Block& block, std::vector<Item> arguments) {
  frames_.clear();
  windows_.clear();
  yielded_.clear();
  ensure(arguments.size() == block.args.size(), "a block was started with another number of arguments than it has");
  for (std::size_t i = 0; i < arguments.size(); ++i) items_[block.args[i].id] = std::move(arguments[i]);
  frames_.push_back({&block});
}

void Machine::adopt(const Machine& other) {
  items_ = other.items_;
  steps_ = other.steps_;
}

bool Machine::run() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.next == frame.block->ops.size()) {
      end({});
      continue;
    }
    const Op& op = frame.block->ops[frame.next++];
    ++steps_;
    if (!execute(op)) {
      --frames_.back().next;  // this op again, when its turn comes
      --steps_;
      return false;
    }
  }
  return true;
}

const Tile& Machine::tile(const Op& op, std::size_t operand) {
  const Item& item = items_[op.operands[operand].id];
  return team_ ? team_->read(*this, op, op.operands[operand]) : item.tile;
}

bool Machine::execute(const Op& op) {
  switch (info(op.code).kind) {
    case OpKind::leaf: leaf(op); return true;
    case OpKind::unary:
    case OpKind::binary:
    case OpKind::compare:
    case OpKind::ternary:
    case OpKind::reduce:
    case OpKind::tile: compute(op); return true;
    case OpKind::memory: memory(op); return true;
    case OpKind::control: control(op); return true;
    case OpKind::placed: break;
  }
  if (!team_) throw InternalError(fmt::format("op '{}' in a kernel that is not placed", info(op.code).name));
  return team_->execute(*this, op);
}

std::vector<Dim> Machine::dims_of(const Type& type) const {
  std::vector<Dim> dims = type.dims;
  if (program_.launch->kernel && program_.launch->kernel->stage == Stage::traced) {
    for (Dim& dim : dims) dim.extent = window(dim.axis).extent;
  }
  return dims;
}

void Machine::leaf(const Op& op) {
  const Launch& launch = *program_.launch;
  const Value result = op.results[0];
  switch (op.code) {
    case OpCode::constant: {
      const Type& type = graph_.type(result);
      return set(result, Tile::number(type.dtype, op.number, dims_of(type)));
    }
    case OpCode::iota: {
      Tile tile(DType::i32, dims_of(graph_.type(result)));
      for (std::int64_t i = 0; i < tile.elements(); ++i) tile.data<std::int32_t>()[i] = static_cast<std::int32_t>(i);
      return set(result, std::move(tile));
    }
    case OpCode::program_id: return set(result, Tile::integer(id(op.axis)));
    case OpCode::length: return set(result, Tile::integer(launch.binding->length(op.axis)));
    case OpCode::scalar: {
      const std::size_t p = param_of(op);
      return set(result, Tile::number((*launch.params)[p].dtype, std::get<double>((*launch.arguments)[p])));
    }
    case OpCode::group_id: return set(result, Tile::integer(team_ ? team_->group(*this) : 0));
    case OpCode::tile_at: {
      Reference tile{op.index, 0, {}};
      for (std::size_t i = 0; i < op.operands.size(); ++i) tile.starts.push_back(integer(op, i));
      items_[result.id] = {Tile{}, std::move(tile), steps_, 0};
      return;
    }
    case OpCode::position:
    case OpCode::exists: return set(result, launch.kernel->stage == Stage::traced ? position(op.axis) : places(op));
    case OpCode::allowed: return set(result, allowed(op));
    default: throw InternalError(fmt::format("op '{}' is no leaf", info(op.code).name));
  }
}

OrderedTile Machine::ordered_tile(Value handle) const {
  const Reference& tile = items_[handle.id].reference;
  return {&program_.launch->kernel->orders[static_cast<std::size_t>(tile.object)],
          {tile.starts.begin(), tile.starts.end() - 1},
          tile.starts.back()};
}

// Of a tile of a token order: the tokens of its rows, or whether they are any.
Tile Machine::places(const Op& op) {
  const OrderedTile at = ordered_tile(op.operands[0]);
  std::int64_t end = program_.launch->binding->length(op.axis);
  if (op.operands.size() > 1) end = std::min<std::int64_t>(end, integer(op, 1));
  const Type& type = graph_.type(op.results[0]);
  Tile tile(type.dtype, type.dims);
  const bool tokens = op.index < 0;
  const std::size_t from = tokens ? 0 : static_cast<std::size_t>(op.index),
                    to = tokens ? at.firsts.size() - 1 : static_cast<std::size_t>(op.number);
  ensure(at.cut->order.is_number(from, to), "digits of a token order that are no number");
  for (int i = 0; i < type.extent(op.axis); ++i)
    tile.data<std::int32_t>()[i] =
        op.code == OpCode::exists ? at.cut->exists(at.firsts, at.row + i, end)
                                  : static_cast<std::int32_t>(at.cut->order.value(from, to, at.firsts, at.row + i));
  return tile;
}

void Machine::compute(const Op& op) {
  const Value result = op.results[0];
  if (is_elementwise(op.code)) {
    const Tile* operands[3];
    for (std::size_t i = 0; i < op.operands.size(); ++i) operands[i] = &tile(op, i);
    return set(result, elementwise(op.code, graph_.type(result).dtype, {operands, op.operands.size()}));
  }
  switch (op.code) {
    case OpCode::broadcast: return set(result, tile(op, 0).repeated(dims_of(graph_.type(result))));
    case OpCode::convert: return set(result, tile(op, 0));
    case OpCode::dot:
      return set(result, dot(tile(op, 0), tile(op, 1), op.axis, op.operands.size() == 3 ? &tile(op, 2) : nullptr));
    case OpCode::apply: return set(result, apply(op));
    case OpCode::partial_sum: return set(result, partial_sum(tile(op, 0), op.axis, dims_of(graph_.type(result))));
    default: return set(result, reduce(op.code, tile(op, 0), op.axis));
  }
}

Place Machine::place_of(const Op& op, std::size_t first) {
  const Launch& launch = *program_.launch;
  const std::size_t p = param_of(op);
  const Param& param = (*launch.params)[p];
  Place place{&std::get<View>((*launch.arguments)[p]), &param.axes, {}, {}};
  for (std::size_t i = 0; i < launch.outer.size(); ++i) {
    place.outer.push_back(id(launch.outer[i]) / launch.binding->groups[p][i]);
  }
  const bool traced = launch.kernel->stage == Stage::traced;
  for (std::size_t i = 0; i < param.axes.size(); ++i) {
    const bool ordered = !traced && graph_.type(op.operands[first + i]).kind == TypeKind::index;
    if (ordered) {
      place.ordered.resize(param.axes.size());
      place.ordered[i] = ordered_tile(op.operands[first + i]);
    }
    place.starts.push_back(traced ? window(param.axes[i]).start : ordered ? 0 : integer(op, first + i));
  }
  if (op.axis) {
    place.bounded = op.axis;
    place.bound = integer(op, op.operands.size() - 1);
  }
  return place;
}

void Machine::memory(const Op& op) {
  switch (op.code) {
    case OpCode::load: return set(op.results[0], load(place_of(op, 0), dims_of(graph_.type(op.results[0]))));
    case OpCode::store: return store(place_of(op, 1), tile(op, 0));
    case OpCode::gather: {
      std::vector<const Tile*> indices;
      for (std::size_t i = 0; i < op.operands.size(); ++i) indices.push_back(&tile(op, i));
      const Argument& table = (*program_.launch->arguments)[param_of(op)];
      return set(op.results[0], gather(std::get<View>(table), indices));
    }
    default: throw InternalError(fmt::format("op '{}' does not touch memory", info(op.code).name));
  }
}

}  // namespace tessera::ir::interp
