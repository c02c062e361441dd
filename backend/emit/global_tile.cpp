#include <tessera/backend/emit/global_tile.h>

#include <algorithm>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/slots.h>

namespace tessera::backend {

using ir::Part;
using llvm::Value;

namespace {

const llvm::ConstantInt* constant(Value* v) { return llvm::dyn_cast<llvm::ConstantInt>(v); }

}  // namespace

Value* program_coordinate(Emitter& e, int param, int implicit) {
  const ir::Axis axis = implicit_axes(e.kernel, e.kernel.params[param]).at(static_cast<std::size_t>(implicit));
  const int dim = dim_of_implicit(e.kernel, e.kernel.params[param], implicit);
  return e.b.CreateUDiv(e.program(axis), e.slot({.kind = SlotKind::group, .param = param, .dim = dim}));
}

Values program_coordinates(Emitter& e, int param) {
  Values coordinates;
  for (int i = 0; i < static_cast<int>(implicit_axes(e.kernel, e.kernel.params[param]).size()); ++i)
    coordinates.push_back(program_coordinate(e, param, i));
  return coordinates;
}

Value* program_offset(Emitter& e, int param) {
  const ir::Param& p = e.kernel.params[param];
  Value* offset = e.b.getInt64(0);
  for (int i = 0; i < static_cast<int>(implicit_axes(e.kernel, p).size()); ++i) {
    Value* at = e.b.CreateZExt(program_coordinate(e, param, i), e.b.getInt64Ty());
    offset = e.b.CreateAdd(offset, e.b.CreateMul(at, e.stride(param, dim_of_implicit(e.kernel, p, i))));
  }
  return offset;
}

GlobalTile::GlobalTile(Emitter& e, int param, const ir::Type& type, const std::vector<Bound>& starts, ir::Axis bounded,
                       Value* bound)
    : e_(e), param_(param), type_(type) {
  const ir::Param& p = e.kernel.params[param];
  if (starts.size() != p.axes.size())
    throw InternalError("parameter " + p.name + " is accessed with " + std::to_string(starts.size()) + " of " +
                        std::to_string(p.axes.size()) + " coordinates");
  Value* offset = program_offset(e, param);
  for (int i = 0; i < static_cast<int>(starts.size()); ++i) {
    dims_.push_back(dim(i, starts[i], bounded, bound));
    const Dim& d = dims_.back();
    if (d.places) continue;
    Value* first = e.b.CreateSExt(e.b.CreateAdd(d.start, d.thread), e.b.getInt64Ty());
    offset = e.b.CreateAdd(offset, e.b.CreateMul(first, d.stride));
  }
  for (int i = 0; i < static_cast<int>(implicit_axes(e.kernel, p).size()); ++i)
    outer_strides_.push_back(e.stride(param, dim_of_implicit(e.kernel, p, i)));
  Value* pointer = e.slot({.kind = SlotKind::pointer, .param = param});
  base_ = e.b.CreateGEP(e.b.getInt8Ty(), pointer, e.b.CreateMul(offset, e.b.getInt64(bytes_of(p.dtype))));
  find_width();
}

GlobalTile::Dim GlobalTile::dim(int listed, const Bound& start, ir::Axis bounded, Value* bound) const {
  const ir::Param& p = e_.kernel.params[param_];
  const ir::Axis axis = p.axes[listed];
  Dim d{.axis = axis, .stride = e_.stride(param_, dim_of_listed(e_.kernel, p, listed))};
  d.in_tile = type_.has(axis);
  d.limit = e_.length(axis);
  if (bound && axis == bounded) d.limit = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, d.limit, bound);
  if (start.cut) {
    d.places = ordered_places(e_, start, type_, axis, d.limit);
    d.checked = true;
    return d;
  }
  d.start = start.regs.at(0);
  d.thread = d.in_tile ? thread_part(e_, *type_.layout, axis) : e_.i32(0);
  const auto *first = constant(d.start), *limit = constant(d.limit);
  const int extent = d.in_tile ? type_.extent(axis) : 1;
  d.checked =
      !(first && limit && first->getSExtValue() >= 0 && first->getSExtValue() + extent <= limit->getSExtValue());
  return d;
}

int GlobalTile::at(const Dim& d, int reg) const {
  return d.in_tile ? type_.layout->part_at(d.axis, Part::reg, reg) : 0;
}

bool GlobalTile::surely_exists(const Dim& d, int reg) const {
  if (!d.checked) return true;
  if (d.places) return false;
  const auto *first = constant(d.start), *limit = constant(d.limit);
  const int most = d.in_tile ? thread_part_max(*type_.layout, d.axis) : 0;
  return first && limit && first->getSExtValue() >= 0 &&
         first->getSExtValue() + at(d, reg) + most < limit->getSExtValue();
}

void GlobalTile::find_width() {
  const int bytes = bytes_of(e_.kernel.params[param_].dtype), n = registers_of(type_);
  if (type_.is_scalar() || dims_.empty() || !dims_.back().in_tile || dims_.back().places) return;
  const auto runs_of = [&](int w) {
    if (n % w != 0) return false;
    for (int r = 0; r < n; ++r)
      for (std::size_t d = 0; d < dims_.size(); ++d) {
        const int step = d + 1 == dims_.size() ? r % w : 0;
        if (at(dims_[d], r) != at(dims_[d], r - r % w) + step) return false;
        if (d + 1 == dims_.size() && at(dims_[d], r - r % w) % w != 0) return false;
      }
    return true;
  };
  int limit = std::min(16 / bytes, thread_part_alignment(*type_.layout, dims_.back().axis));
  for (int w = limit; w > 1; w /= 2)
    if (runs_of(w)) {
      width_ = w;
      return;
    }
}

Value* GlobalTile::aligned() const {
  auto& b = e_.b;
  const std::int64_t bytes = bytes_of(e_.kernel.params[param_].dtype);
  Value* bits = b.CreatePtrToInt(e_.slot({.kind = SlotKind::pointer, .param = param_}), b.getInt64Ty());
  const auto include = [&](Value* elements) { bits = b.CreateOr(bits, b.CreateMul(elements, b.getInt64(bytes))); };
  for (std::size_t d = 0; d + 1 < dims_.size(); ++d) include(dims_[d].stride);
  for (Value* stride : outer_strides_) include(stride);
  const Dim& last = dims_.back();
  include(b.CreateSExt(last.start, b.getInt64Ty()));
  if (last.checked) include(b.CreateSExt(last.limit, b.getInt64Ty()));  // then a run exists as a whole or not at all
  Value* multiple = b.CreateICmpEQ(b.CreateAnd(bits, b.getInt64(width_ * bytes - 1)), b.getInt64(0));
  return b.CreateAnd(multiple, b.CreateICmpEQ(last.stride, b.getInt64(1)));
}

std::vector<GlobalTile::Group> GlobalTile::groups(int width) const {
  std::map<std::vector<int>, Group> by_conditions;  // what each checked axis adds; -1: exists anyway
  for (int r = 0; r < registers_of(type_); r += width) {
    std::vector<int> key;
    for (const Dim& d : dims_) key.push_back(surely_exists(d, r) ? -1 : at(d, r));
    by_conditions[key].first.push_back(r);
  }
  std::vector<Group> groups;
  for (auto& [key, group] : by_conditions) {
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      if (key[d] < 0) continue;
      if (const auto& places = dims_[d].places) {
        Value* exists = places->exist.at(key[d]);
        group.exists = group.exists ? e_.b.CreateAnd(group.exists, exists) : exists;
        continue;
      }
      // unsigned: a negative position does not exist either
      Value* at = e_.b.CreateAdd(e_.b.CreateAdd(dims_[d].start, dims_[d].thread), e_.i32(key[d]));
      Value* inside =
          e_.b.CreateICmpULT(at, e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, dims_[d].limit, e_.i32(0)));
      group.exists = group.exists ? e_.b.CreateAnd(group.exists, inside) : inside;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

Value* GlobalTile::pointer(int reg, int width) const {
  const std::int64_t bytes = bytes_of(e_.kernel.params[param_].dtype);
  Value* offset = e_.b.getInt64(0);
  int packed = 0;  // elements along the last axis, whose stride is 1 where several move at once: a constant
  for (const Dim& d : dims_) {
    const int step = at(d, reg);
    if (d.places) {
      Value* token = e_.b.CreateSExt(d.places->tokens.at(step), e_.b.getInt64Ty());
      offset = e_.b.CreateAdd(offset, e_.b.CreateMul(d.stride, token));
      continue;
    }
    if (width > 1 && &d == &dims_.back())
      packed = step;
    else if (step != 0)
      offset = e_.b.CreateAdd(offset, e_.b.CreateMul(d.stride, e_.b.getInt64(step)));
  }
  Value* row = e_.b.CreateGEP(e_.b.getInt8Ty(), base_, e_.b.CreateMul(offset, e_.b.getInt64(bytes)));
  return e_.b.CreateGEP(e_.b.getInt8Ty(), row, e_.b.getInt64(packed * bytes));
}

}  // namespace tessera::backend
