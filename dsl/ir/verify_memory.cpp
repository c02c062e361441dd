#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <tessera/dsl/ir/typing.h>
#include <tessera/dsl/ir/verify_rules.h>

namespace tessera::ir::detail {

namespace {

// Operands [from, end) of a load, store or copy: tile handles while traced, else a start per axis; then the bound.
std::string coordinate_rule(const Surroundings& in, const Op& op, const Param& param, std::size_t from) {
  std::size_t end = op.operands.size();
  if (op.axis) {
    if (std::count(param.axes.begin(), param.axes.end(), op.axis) == 0) {
      return fmt::format("bounds axis {}, which '{}' lacks", op.axis.name(), param.name);
    }
    if (end == from) return "names a bounded axis but has no bound";
    end -= 1;
    if (std::string reason = scalar_i32_rule(in, op, end, end + 1, "the bound"); !reason.empty()) return reason;
  }
  if (in.stage != Stage::traced) {
    if (end - from != param.axes.size()) {
      return fmt::format("has {} coordinates, but '{}' has {} axes", end - from, param.name, param.axes.size());
    }
    for (std::size_t i = from; i < end; ++i) {
      const Type& at = in.operand(op, i);
      const Axis axis = param.axes[i - from];
      if (is_index(at) || (at.kind == TypeKind::index && at.has(axis))) continue;
      return at.kind == TypeKind::index
                 ? fmt::format("a coordinate is {}, must be a tile of {}", to_string(at), axis.name())
                 : fmt::format("a coordinate is {}, must be i32", to_string(at));
    }
    return {};
  }
  for (std::size_t i = from; i < end; ++i) {
    const Type& handle = in.operand(op, i);
    bool fits = handle.kind == TypeKind::index && !handle.dims.empty() &&
                std::count(param.axes.begin(), param.axes.end(), handle.dims[0].axis) == 1;
    if (!fits) return fmt::format("coordinate {} is no tile of an axis of '{}'", to_string(handle), param.name);
  }
  return {};
}

std::string tensor_rule(const Param& param, const Type& tile) {
  bool fits = tile.dtype == param.dtype && tile.dims.size() == param.axes.size();
  for (Axis axis : param.axes) fits = fits && tile.has(axis);
  if (fits) return {};
  Type wanted{.dtype = param.dtype};
  for (Axis axis : param.axes) wanted.dims.push_back({axis, 0});
  return fmt::format("moves {}, but parameter '{}' is {}", to_string(tile), param.name, to_string(wanted));
}

std::string access_rule(const Surroundings& in, const Op& op, const Type& tile, std::size_t from) {
  bool write = op.code == OpCode::store || op.code == OpCode::send;
  std::string reason =
      param_rule(in, op, write ? ParamKind::output : ParamKind::input, write ? "an output" : "an input");
  if (reason.empty()) reason = tensor_rule(in.params[op.index], tile);
  return reason.empty() ? coordinate_rule(in, op, in.params[op.index], from) : reason;
}

std::string gather_rule(const Surroundings& in, const Op& op) {
  if (std::string reason = param_rule(in, op, ParamKind::table, "a table"); !reason.empty()) return reason;
  const Param& param = in.params[op.index];
  if (static_cast<int>(op.operands.size()) != param.rank) {
    return fmt::format("has {} indices, but table '{}' has rank {}", op.operands.size(), param.name, param.rank);
  }
  Type wanted = Type::scalar(param.dtype);
  for (Value v : op.operands) {
    const Type& t = in.type(v);
    if (t.kind != TypeKind::tile || t.dtype != DType::i32)
      return fmt::format("an index is {}, must be i32", to_string(t));
    if (std::string reason = merge_rule(wanted.dims, t.dims); !reason.empty()) return reason;
  }
  const Type& result = in.result(op);
  bool fits = result.kind == TypeKind::tile && result.dtype == wanted.dtype && same_dims(result.dims, wanted.dims);
  return fits ? "" : fmt::format("gives {}, must give {}", to_string(result), to_string(wanted));
}

}  // namespace

std::string memory_rule(const Surroundings& in, const Op& op) {
  if (op.code == OpCode::gather) return gather_rule(in, op);
  const Type& tile = op.code == OpCode::load ? in.result(op) : in.operand(op, 0);
  if (tile.kind != TypeKind::tile) return fmt::format("moves {}, must move a tile", to_string(tile));
  return access_rule(in, op, tile, op.code == OpCode::load ? 0 : 1);
}

namespace {

std::string ticket_rule(const Surroundings& in, const Op& op, std::size_t barrier) {
  const Type& t = in.operand(op, barrier);
  if (t.kind != TypeKind::barrier) return fmt::format("takes a barrier, not {}", to_string(t));
  return scalar_i32_rule(in, op, barrier + 1, barrier + 2, "the ticket");
}

std::string view_rule(const Surroundings& in, const Op& op) {
  const Type& from = in.operand(op, 0);
  const Type& result = in.result(op);
  bool ring = op.code == OpCode::slot;
  if (from.kind != (ring ? TypeKind::shared : TypeKind::view)) {
    return fmt::format("takes a {}, not {}", ring ? "ring" : "view", to_string(from));
  }
  if (std::string reason = scalar_i32_rule(in, op, 1, 2, ring ? "the ticket" : "the start"); !reason.empty())
    return reason;
  bool fits = result.kind == TypeKind::view && result.dtype == from.dtype && result.dims.size() == from.dims.size();
  for (const Dim& d : from.dims) {
    fits = fits && result.has(d.axis) &&
           (!ring && d.axis == op.axis ? result.extent(d.axis) <= d.extent : result.extent(d.axis) == d.extent);
  }
  if (!ring && !from.has(op.axis)) return fmt::format("{} has no axis {}", to_string(from), op.axis.name());
  return fits ? "" : fmt::format("gives {} of {}", to_string(result), to_string(from));
}

std::string alloc_rule(const Type& type) {
  if (type.kind != TypeKind::shared && type.kind != TypeKind::barrier) {
    return fmt::format("gives {}, must give a ring or a barrier", to_string(type));
  }
  if (type.stages < 1) return fmt::format("has {} stages", type.stages);
  if (type.kind == TypeKind::barrier && type.arrivals < 1) return fmt::format("expects {} arrivals", type.arrivals);
  return {};
}

std::string mma_rule(const Surroundings& in, const Op& op) {
  if (in.operand(op, 1).kind != TypeKind::view) {
    return fmt::format("reads its second operand from shared memory, not from {}", to_string(in.operand(op, 1)));
  }
  TypeKind a = in.operand(op, 0).kind;
  if (a != TypeKind::view && a != TypeKind::tile)
    return fmt::format("takes a tile, not {}", to_string(in.operand(op, 0)));
  return product_rule(in, op);
}

std::string mma_wait_rule(const Surroundings& in, const Op& op) {
  if (op.index < 0) return "does not say how many groups may stay in flight";
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    const Type& from = in.operand(op, i);
    const Type& to = in.type(op.results[i]);
    if (!same_type(from, to)) return fmt::format("passes {} through as {}", to_string(from), to_string(to));
  }
  return {};
}

std::string copy_rule(const Surroundings& in, const Op& op) {
  const Type& view = in.operand(op, 0);
  if (view.kind != TypeKind::view) return fmt::format("writes to a view, not to {}", to_string(view));
  if (std::string reason = ticket_rule(in, op, 1); !reason.empty()) return reason;
  return access_rule(in, op, view, 3);
}

std::string write_rule(const Surroundings& in, const Op& op) {
  const Type &view = in.operand(op, 0), &tile = in.operand(op, 1);
  if (view.kind != TypeKind::view) return fmt::format("writes to a view, not to {}", to_string(view));
  bool fits = tile.kind == TypeKind::tile && tile.dtype == view.dtype && tile.dims == view.dims;
  return fits ? "" : fmt::format("writes {} to {}", to_string(tile), to_string(view));
}

std::string send_rule(const Surroundings& in, const Op& op) {
  const Type& view = in.operand(op, 0);
  if (view.kind != TypeKind::view) return fmt::format("sends a view, not {}", to_string(view));
  if (op.axis) return "has a bound: what lies outside the tensor is not written anyway";
  return access_rule(in, op, view, 1);
}

}  // namespace

std::string placed_rule(const Surroundings& in, const Op& op) {
  switch (op.code) {
    case OpCode::alloc: return alloc_rule(in.result(op));
    case OpCode::slot:
    case OpCode::rows: return view_rule(in, op);
    case OpCode::copy: return copy_rule(in, op);
    case OpCode::write: return write_rule(in, op);
    case OpCode::send: return send_rule(in, op);
    case OpCode::expect:
      if (!(op.number > 0) || op.number != std::floor(op.number)) return fmt::format("announces {} bytes", op.number);
      return ticket_rule(in, op, 0);
    case OpCode::arrive: return ticket_rule(in, op, 0);
    case OpCode::wait:
      if (op.index > 1) return fmt::format("waits {} uses back, at most 1", op.index);
      return ticket_rule(in, op, 0);
    case OpCode::mma: return mma_rule(in, op);
    case OpCode::mma_wait: return mma_wait_rule(in, op);
    case OpCode::role:
      if (in.kernel && (op.index < 0 || op.index >= static_cast<int>(in.kernel->roles.size()))) {
        return fmt::format("refers to role {} of {}", op.index, in.kernel->roles.size());
      }
      if (!op.regions[0].args.empty())
        return fmt::format("its region has {} arguments, must have 0", op.regions[0].args.size());
      return {};
    default: return {};
  }
}

}  // namespace tessera::ir::detail
