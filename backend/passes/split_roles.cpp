#include <tessera/backend/passes/split_roles.h>

#include <unordered_set>

#include <tessera/backend/blocks_at_once.h>
#include <tessera/backend/passes/live_scalars.h>
#include <tessera/backend/passes/slice.h>
#include <tessera/backend/warpgroup.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

enum RoleIndex { kProducer, kConsumer };

bool is_copy(const Op& op) { return op.code == OpCode::copy || op.code == OpCode::expect; }
bool is_alloc(const Op& op) { return op.code == OpCode::alloc; }

bool is_scalar_constant(const Op& op, const Kernel& kernel) {
  return op.code == OpCode::constant && kernel.type(op.results[0]).is_scalar();
}

// Ids of the values that the entry block of `kernel` defines.
std::unordered_set<std::uint32_t> defined(const Kernel& kernel) {
  std::unordered_set<std::uint32_t> ids;
  for (const Op& op : kernel.entry.ops)
    for (Value v : op.results) ids.insert(v.id);
  return ids;
}

void refuse_tiles(const Kernel& producer) {
  walk(producer.entry, [&](const Op& op) {
    for (Value v : op.results) {
      const Type& type = producer.type(v);
      if (type.kind == TypeKind::tile && !type.is_scalar())
        throw UserError(
            op.loc,
            "the address of a tile that a product reads depends on " + to_string(type) + " computed in the kernel",
            "compute addresses from scalars, lengths, lists and tables");
    }
  });
}

// What the assembler takes for the thread that issues the copies: its addresses and barriers, the scalars it carries,
// and where it reads tables, their addresses of 64 bits. Measured on the library's kernels: with less, it spills.
int registers_to_copy(const Kernel& producer) {
  constexpr int kBase = 22, kTables = 12;
  bool tables = false;
  walk(producer.entry, [&](const Op& op) { tables = tables || op.code == OpCode::gather; });
  return kBase + most_live_scalars(producer) + (tables ? kTables : 0);
}

// Rewrites the consumers' program from the whole tile to the 64 rows of one warpgroup.
class ConsumerRows {
 public:
  ConsumerRows(const Kernel& from, Kernel& to, const LayoutRule& whole)
      : from_(from),
        row_(whole.row().axis),
        rule_(whole),
        rewriter_(from, to, [this](Rewriter&, const Op& op, Builder& b) { return replace(op, b); }) {
    rule_.set_rows(kGroupRows);
    rewriter_.retype = [this](const Type& t) { return narrowed(t); };
  }

  Rewriter& rewriter() { return rewriter_; }

  // Values that are mapped already are defined outside.
  void run(Builder& b) {
    offset_ = b.mul(b.append_value(OpCode::group_id, {}, Type::scalar(DType::i32)), kGroupRows);
    rewriter_.block(from_.entry, b);
  }

 private:
  Type narrowed(const Type& type) const {
    if (type.kind != TypeKind::tile || !type.layout) return type;
    Type out = type;
    for (Dim& d : out.dims)
      if (d.axis == row_) d.extent = kGroupRows;
    return rule_.place(out);
  }

  bool replace(const Op& op, Builder& b) {
    b.set_loc(op.loc);
    if (op.results.size() == 1 && rewriter_.mapped(op.results[0])) return true;
    switch (op.code) {
      case OpCode::iota: return op.axis == row_ && shifted_iota(op, b);
      case OpCode::tile_at: return op.axis == row_ && shifted_tile(op, b);
      case OpCode::load: return from_.type(op.results[0]).has(row_) && access(op, b, 0);
      case OpCode::store: return from_.type(op.operands[0]).has(row_) && access(op, b, 1);
      case OpCode::slot: return from_.type(op.results[0]).has(row_) && rows_of_slot(op, b);
      case OpCode::reduce_max:
      case OpCode::reduce_min:
      case OpCode::reduce_sum:
      case OpCode::reduce_any:
      case OpCode::reduce_all:
      case OpCode::mma: return refuse_across_groups(op);
      default: return false;
    }
  }

  bool shifted_iota(const Op& op, Builder& b) {
    const Type type = narrowed(from_.type(op.results[0]));
    Op& iota = b.append(OpCode::iota, {}, {type});
    iota.axis = row_;
    rewriter_.map(op.results[0], b.append_value(OpCode::add, {iota.results[0], offset_}, type));
    return true;
  }

  bool shifted_tile(const Op& op, Builder& b) {
    Op shifted = op;
    shifted.operands = rewriter_[op.operands];
    shifted.operands.back() = b.add(shifted.operands.back(), offset_);
    shifted.results = {b.graph().add_value(from_.type(op.results[0]), from_.name_of(op.results[0]))};
    rewriter_.map(op.results[0], shifted.results[0]);
    b.push(std::move(shifted));
    return true;
  }

  // load and store: the coordinate along the row axis moves to this group's rows.
  bool access(const Op& op, Builder& b, std::size_t first) {
    const std::vector<Axis>& axes = from_.params[op.index].axes;
    std::vector<Value> operands = rewriter_[op.operands];
    for (std::size_t i = 0; i < axes.size(); ++i)
      if (axes[i] == row_ && from_.type(op.operands[first + i]).kind != TypeKind::index)
        operands[first + i] = b.add(operands[first + i], offset_);
    std::vector<Type> results;
    for (Value v : op.results) results.push_back(narrowed(from_.type(v)));
    Op& moved = b.append(op.code, operands, results);
    moved.index = op.index;
    moved.axis = op.axis;
    for (std::size_t i = 0; i < op.results.size(); ++i) rewriter_.map(op.results[i], moved.results[i]);
    return true;
  }

  bool rows_of_slot(const Op& op, Builder& b) {
    const Value whole = b.append_value(OpCode::slot, rewriter_[op.operands], from_.type(op.results[0]));
    Type part = from_.type(op.results[0]);
    for (Dim& d : part.dims)
      if (d.axis == row_) d.extent = kGroupRows;
    Op& rows = b.append(OpCode::rows, {whole, offset_}, {part});
    rows.axis = row_;
    rewriter_.map(op.results[0], rows.results[0]);
    return true;
  }

  bool refuse_across_groups(const Op& op) const {
    if (op.axis == row_ && from_.type(op.operands[0]).extent(row_) > kGroupRows)
      throw UserError(op.loc,
                      "this reduces over axis " + row_.name() + ", whose " +
                          std::to_string(from_.type(op.operands[0]).extent(row_)) +
                          " rows are divided among warpgroups",
                      "choose a tile of 64 along " + row_.name());
    return false;
  }

  const Kernel& from_;
  Axis row_;
  LayoutRule rule_;
  Value offset_;
  Rewriter rewriter_;
};

void append_role(Kernel& kernel, RoleIndex index, Block region) {
  Op role;
  role.code = OpCode::role;
  role.index = index;
  role.regions.push_back(std::move(region));
  kernel.entry.ops.push_back(std::move(role));
}

}  // namespace

Kernel split_roles(const Kernel& kernel, const LayoutRule& rule, const Schedule& schedule, const Target& target) {
  Kernel out = like(kernel);
  if (!rule.has_products()) {
    out = kernel;
    out.threads = kGroupThreads;
    return out;
  }
  const Kernel producer = slice(kernel, [](const Op& op) { return is_copy(op); });
  const Kernel consumer = slice(kernel, [](const Op& op) { return has_effect(op) && !is_copy(op) && !is_alloc(op); });
  refuse_tiles(producer);

  const int to_copy = registers_to_copy(producer);
  out.blocks = blocks_at_once(kernel, rule, to_copy, schedule, target);
  const RegisterBudget budget = register_budget(share_of(target, out.blocks), schedule.warpgroups, to_copy);
  out.roles = {{"producer", 1, budget.copying}, {"consumer", schedule.warpgroups, budget.computing}};
  out.threads = kGroupThreads * (1 + schedule.warpgroups);
  Rewriter copies(producer, out, [](Rewriter& r, const Op& op, Builder&) {
    return op.results.size() == 1 && r.mapped(op.results[0]);  // defined outside
  });
  ConsumerRows rows(consumer, out, rule);

  // What both roles name stays outside.
  Builder top(out, out.entry);
  const auto of_producer = defined(producer), of_consumer = defined(consumer);
  for (const Op& op : kernel.entry.ops) {
    const bool both = is_scalar_constant(op, kernel) && of_producer.contains(op.results[0].id) &&
                      of_consumer.contains(op.results[0].id);
    if (!both && !is_alloc(op)) continue;
    copies.copy(op, top);
    rows.rewriter().map(op.results[0], copies[op.results[0]]);
  }
  Block produce, consume;
  Builder into_producer = top.inside(produce), into_consumer = top.inside(consume);
  copies.block(producer.entry, into_producer);
  rows.run(into_consumer);
  append_role(out, kProducer, std::move(produce));
  append_role(out, kConsumer, std::move(consume));
  return out;
}

}  // namespace tessera::backend
