#include <tessera/backend/emit/slots.h>

#include <algorithm>

#include <tessera/backend/ordered_map.h>
#include <tessera/backend/warpgroup.h>
#include <tessera/dsl/ir/arguments.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using ir::Kernel;
using ir::Op;
using ir::OpCode;
using ir::Param;
using ir::ParamKind;

namespace {

void add(std::vector<Slot>& slots, const Slot& slot) {
  if (std::find(slots.begin(), slots.end(), slot) == slots.end()) slots.push_back(slot);
}

class Collector {
 public:
  explicit Collector(const Kernel& kernel)
      : kernel_(kernel), definitions_(ir::definitions(kernel)), of_param_(kernel.params.size()) {}

  std::vector<Slot> run() {
    ir::walk(kernel_.entry, [this](const Op& op) { visit(op); });
    std::vector<Slot> all;
    for (std::vector<Slot>& slots : of_param_) {
      std::stable_sort(slots.begin(), slots.end(),
                       [](const Slot& a, const Slot& b) { return a.kind != b.kind ? a.kind < b.kind : a.dim < b.dim; });
      all.insert(all.end(), slots.begin(), slots.end());
    }
    all.insert(all.end(), lengths_.begin(), lengths_.end());
    all.insert(all.end(), scalars_.begin(), scalars_.end());
    if (persistent_ || kernel_.order.section > 0) all.push_back({.kind = SlotKind::programs});
    if (persistent_) all.push_back({.kind = SlotKind::counter});
    return all;
  }

 private:
  void visit(const Op& op) {
    switch (op.code) {
      case OpCode::program_id: return grid();
      case OpCode::length:
      case OpCode::exists: return length(op.axis);
      case OpCode::scalar: return add(scalars_, {.kind = SlotKind::scalar, .param = op.index});
      case OpCode::load:
      case OpCode::store: return tensor(op.index);
      case OpCode::gather: return gathered(op.index);
      case OpCode::copy: return copied(op);
      case OpCode::send: return sent(op);
      case OpCode::programs: persistent_ = true; return;
      default: return;
    }
  }

  // The last grid axis needs no length: its index is what the division by the others leaves.
  void grid() {
    const std::size_t last = kernel_.order == ir::WorkOrder{} ? kernel_.grid.size() - 1 : kernel_.grid.size();
    for (std::size_t i = 0; i < last; ++i) length(kernel_.grid[i]);
  }

  void length(ir::Axis axis) {
    if (!kernel_.whole_extent(axis)) add(lengths_, {.kind = SlotKind::length, .axis = axis});
  }

  void groups(int p) {
    const int implicit = static_cast<int>(implicit_axes(kernel_, kernel_.params[p]).size());
    if (implicit > 0) grid();
    for (int d = 0; d < implicit; ++d) add(of_param_[p], {.kind = SlotKind::group, .param = p, .dim = d});
  }

  void tensor(int p) {
    const Param& param = kernel_.params[p];
    add(of_param_[p], {.kind = SlotKind::pointer, .param = p});
    const int dims = static_cast<int>(param.axes.size() + implicit_axes(kernel_, param).size());
    for (int d = 0; d < dims; ++d) add(of_param_[p], {.kind = SlotKind::stride, .param = p, .dim = d});
    for (ir::Axis axis : param.axes) length(axis);
    groups(p);
  }

  void gathered(int p) {
    if (kernel_.params[p].kind != ParamKind::table) return tensor(p);
    add(of_param_[p], {.kind = SlotKind::pointer, .param = p});
    for (int d = 0; d < kernel_.params[p].rank; ++d)
      add(of_param_[p], {.kind = SlotKind::extent, .param = p, .dim = d});
  }

  void copied(const Op& op) {
    const ir::Type& view = kernel_.type(op.operands[0]);
    if (const ir::AxisOrder* cut = order_of(kernel_, definitions_, op.operands[3]))
      return boxes(op.index, *cut, bool(op.axis));
    const int rows = box_rows(view.dims[0].extent);
    add(of_param_[op.index], {.kind = SlotKind::tensor_map, .param = op.index, .columns = 64, .rows = rows});
    if (op.axis) add(of_param_[op.index], {.kind = SlotKind::tensor_map, .param = op.index, .columns = 64, .rows = 1});
    groups(op.index);
  }

  // Of a token order (ordered_boxes.h).
  void boxes(int p, const ir::AxisOrder& cut, bool bounded) {
    const Param& param = kernel_.params[p];
    std::vector<Slot>& slots = of_param_[p];
    const std::size_t unlisted = implicit_axes(kernel_, param).size();
    const OrderedMap map = ordered_map(cut.order, unlisted);
    add(slots, ordered_map_slot(cut, p, false));
    bool splits = bounded;
    for (std::size_t i = 0; i < cut.order.digits.size(); ++i) splits |= splits_value(cut.order, i);
    if (has_two_maps(cut.order)) add(slots, ordered_map_slot(cut, p, true));
    if (splits && param.kind == ParamKind::input) add(slots, row_map_slot(p));
    if (splits || has_two_maps(cut.order)) length(param.axes[0]);
    const int parts = map.offsets ? static_cast<int>(map.others.size() + unlisted) : 0;
    for (int i = 0; i < parts; ++i) add(slots, multiple_slot(cut, p, i));
    groups(p);
  }

  void sent(const Op& op) {
    const int p = op.index;
    if (const ir::AxisOrder* cut = order_of(kernel_, definitions_, op.operands[1])) {
      tensor(p);  // to be stored, where no box is right
      return boxes(p, rows_of_warp(*cut).value(), false);
    }
    add(of_param_[p], {.kind = SlotKind::tensor_map, .param = p, .columns = 64, .rows = kWarpRows});
    groups(p);
  }

  const Kernel& kernel_;
  const std::vector<const Op*> definitions_;
  std::vector<std::vector<Slot>> of_param_;
  std::vector<Slot> lengths_, scalars_;
  bool persistent_ = false;
};

}  // namespace

std::vector<ir::Axis> implicit_axes(const Kernel& kernel, const Param& param) {
  if (param.kind != ParamKind::input && param.kind != ParamKind::output) return {};
  std::vector<ir::Axis> axes = ir::outer_axes(kernel);
  std::reverse(axes.begin(), axes.end());
  return axes;
}

int dim_of_listed(const Kernel& kernel, const Param& param, int listed) {
  return static_cast<int>(implicit_axes(kernel, param).size()) + listed;
}

int dim_of_implicit(const Kernel& kernel, const Param& param, int implicit) {
  return static_cast<int>(implicit_axes(kernel, param).size()) - 1 - implicit;
}

Slot ordered_map_slot(const ir::AxisOrder& cut, int param, bool complete) {
  return {.kind = SlotKind::tensor_map,
          .param = param,
          .columns = 64,
          .rows = cut.order.tile(),
          .digits = cut.order.digits,
          .complete = complete};
}

Slot multiple_slot(const ir::AxisOrder& cut, int param, int part) {
  return {.kind = SlotKind::multiple, .param = param, .dim = part, .digits = cut.order.digits};
}

Slot row_map_slot(int param) { return {.kind = SlotKind::tensor_map, .param = param, .columns = 64, .rows = 1}; }

int box_rows(int rows) {
  for (int parts = (rows + 255) / 256; parts <= rows; ++parts)
    if (rows % parts == 0 && (parts == 1 || rows / parts % 8 == 0)) return rows / parts;
  throw InternalError("a tile of " + std::to_string(rows) + " rows has no box of at most 256 rows");
}

std::vector<Slot> collect_slots(const Kernel& kernel) { return Collector(kernel).run(); }

}  // namespace tessera::backend
