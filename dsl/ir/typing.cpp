#include <tessera/dsl/ir/typing.h>

#include <algorithm>

#include <tessera/dsl/ir/layout.h>

namespace tessera::ir {

std::optional<Refusal> refuse_operand(OpCode code, const Type& type) {
  if (type.kind != TypeKind::tile) return Refusal{"tiles and scalars", "load a tile first"};
  switch (code) {
    case OpCode::exp:
    case OpCode::exp2:
    case OpCode::log:
    case OpCode::log2:
    case OpCode::tanh:
    case OpCode::sqrt:
    case OpCode::rsqrt:
    case OpCode::floor:
      if (!is_float(type.dtype)) return Refusal{"floats", "cast it to f32"};
      return std::nullopt;
    case OpCode::mod:
      if (type.dtype != DType::i32) return Refusal{"i32", "cast it to i32"};
      return std::nullopt;
    case OpCode::logical_not:
    case OpCode::logical_and:
    case OpCode::logical_or:
    case OpCode::reduce_any:
    case OpCode::reduce_all:
      if (type.dtype != DType::i1) return Refusal{"i1", "compare it with something first"};
      return std::nullopt;
    case OpCode::cast:
    case OpCode::eq:
    case OpCode::ne:
    case OpCode::select: return std::nullopt;
    default:
      if (type.dtype == DType::i1) return Refusal{"numbers", "cast it to a number, or use a logical operation"};
      return std::nullopt;
  }
}

bool same_dims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

bool same_type(const Type& a, const Type& b) {
  Type reordered = b;
  if (!same_dims(a.dims, b.dims)) return false;
  reordered.dims = a.dims;
  return a == reordered;
}

std::vector<Axis> shared_axes(const Type& a, const Type& b) {
  std::vector<Axis> axes;
  for (const Dim& d : a.dims) {
    if (b.has(d.axis)) axes.push_back(d.axis);
  }
  return axes;
}

std::string names_of(const std::vector<Axis>& axes) {
  std::string text;
  for (Axis axis : axes) text += (text.empty() ? "" : ", ") + axis.name();
  return text;
}

bool lies_within(const Type& part, const Type& whole) {
  if (part.is_scalar()) return true;
  if (!part.layout || !whole.layout) return false;
  const Layout& mine = *part.layout;
  const Layout& theirs = *whole.layout;
  if (mine == theirs) return true;
  for (Part hardware : {Part::lane, Part::warp}) {
    if (mine.size(hardware) != theirs.size(hardware)) return false;
    for (int i = 0; i < theirs.size(hardware); ++i) {
      for (const Dim& d : part.dims) {
        if (mine.part_at(d.axis, hardware, i) != theirs.part_at(d.axis, hardware, i)) return false;
      }
    }
  }
  for (int reg = 0; reg < theirs.size(Part::reg); ++reg) {
    std::vector<Coordinate> at;
    for (const Dim& d : part.dims) at.push_back({d.axis, theirs.part_at(d.axis, Part::reg, reg)});
    if (mine.register_of(at) < 0) return false;
  }
  return true;
}

}  // namespace tessera::ir
