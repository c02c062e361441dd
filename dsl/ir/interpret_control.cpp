#include <algorithm>

#include <fmt/format.h>
#include <tessera/dsl/ir/interpret_machine.h>

namespace tessera::ir::interp {

std::vector<Item> Machine::items_of(const std::vector<Value>& values, std::size_t first) {
  std::vector<Item> items;
  for (std::size_t i = first; i < values.size(); ++i) items.push_back(items_[values[i].id]);
  return items;
}

void Machine::control(const Op& op) {
  switch (op.code) {
    case OpCode::yield: return end(items_of(op.operands));
    case OpCode::loop: return begin({&op.regions[0], &op, integer(op, 0), integer(op, 1)}, items_of(op.operands, 2));
    case OpCode::when: {
      const std::int64_t trips = integer(op, 0) != 0 ? 1 : 0;
      return begin({&op.regions[0], &op, 0, trips}, items_of(op.operands, 1));
    }
    case OpCode::programs: return begin({&op.regions[0], &op}, items_of(op.operands));
    case OpCode::over: {
      const bool bounded = op.operands.size() > op.results.size();
      std::int64_t length = program_.launch->binding->length(op.axis);
      if (bounded) length = std::min<std::int64_t>(length, std::max(integer(op, 0), 0));
      windows_.push_back({op.axis, 0, 0});
      return begin({&op.regions[0], &op, -program_.launch->tile, length}, items_of(op.operands, bounded ? 1 : 0));
    }
    default: throw InternalError(fmt::format("op '{}' is not control flow", info(op.code).name));
  }
}

// Enters the region of frame.owner with its first trip, or, if there is none, leaves it at once.
void Machine::begin(Frame frame, std::vector<Item> carried) {
  const bool over = frame.owner->code == OpCode::over;
  frames_.push_back(std::move(frame));
  Frame& pushed = frames_.back();
  if (!over) --pushed.at;
  pushed.next = pushed.block->ops.size();
  end(std::move(carried));
}

// The current trip of the innermost region has ended with `values`: starts the next one, or gives them to the op's
// results.
void Machine::end(std::vector<Item> values) {
  Frame& frame = frames_.back();
  const Op* owner = frame.owner;
  if (!owner) {
    frames_.pop_back();
    yielded_ = std::move(values);
    return;
  }
  if (next_trip(frame)) {
    const std::vector<Value>& args = frame.block->args;
    const std::size_t handles = owner->code == OpCode::when ? 0 : 1;
    if (handles) items_[args[0].id] = {Tile::integer(frame.at)};
    ensure(args.size() == values.size() + handles, "a region carries another number of values than its op has");
    for (std::size_t i = 0; i < values.size(); ++i) items_[args[handles + i].id] = std::move(values[i]);
    frame.next = 0;
    return;
  }
  if (owner->code == OpCode::over) windows_.pop_back();
  frames_.pop_back();
  ensure(owner->results.size() == values.size(), "a region yields another number of values than its op has results");
  for (std::size_t i = 0; i < values.size(); ++i) items_[owner->results[i].id] = std::move(values[i]);
}

bool Machine::next_trip(Frame& frame) {
  if (frame.owner->code == OpCode::over) return next_tile(frame);
  if (frame.owner->code != OpCode::programs) return ++frame.at < frame.end;
  const std::vector<std::int64_t>* ids = team_->program(++frame.at);
  ids_ = ids ? ids : &program_.ids;
  return ids != nullptr;
}

// Moves on to the next tile that the mask needs; false when there is none. The last tile is cut off at the axis's end.
bool Machine::next_tile(Frame& frame) {
  const int tile = program_.launch->tile;
  for (frame.at += tile; frame.at < frame.end; frame.at += tile) {
    windows_.back() = {frame.owner->axis, frame.at,
                       static_cast<int>(std::min<std::int64_t>(tile, frame.end - frame.at))};
    frame.allowed.reset();
    if (frame.owner->index < 0) return true;
    frame.allowed = mask_on(frame.owner->index, query_axis(), frame);
    const std::int32_t* pairs = frame.allowed->data<std::int32_t>();
    const std::int64_t n = frame.allowed->elements();
    if (std::any_of(pairs, pairs + n, [](std::int32_t pair) { return pair != 0; })) return true;
  }
  return false;
}

}  // namespace tessera::ir::interp
