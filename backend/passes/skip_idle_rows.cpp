#include <tessera/backend/passes/skip_idle_rows.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include <tessera/backend/passes/slice.h>
#include <tessera/dsl/ir/rewrite.h>

namespace tessera::backend {

using namespace ir;

namespace {

constexpr int kLeastGroups = 3;

bool others_wait_for(const Op& op) {
  return op.code == OpCode::wait || op.code == OpCode::arrive || op.code == OpCode::turn_wait ||
         op.code == OpCode::turn_pass;
}

// What one program of a role runs: the region of its loop over programs, else all of the role.
template <class RoleOp>
auto& program_of(RoleOp& role) {
  for (auto& op : role.regions[0].ops)
    if (op.code == OpCode::programs) return op.regions[0];
  return role.regions[0];
}

bool yields(const Block& program) { return !program.ops.empty() && program.ops.back().code == OpCode::yield; }

// What the next program of the role begins with; nothing where `program` is all that the role runs.
std::vector<Value> yielded(const Block& program) {
  return yields(program) ? program.ops.back().operands : std::vector<Value>{};
}

// The ops at the top of `program` that scalars are made of. None if they depend on more than those and what stands
// outside: on carried values, effects, loops.
std::optional<std::vector<Op>> origins(const Block& program, const std::vector<Value>& scalars) {
  std::unordered_set<std::uint32_t> needed, inside;
  for (Value v : scalars) needed.insert(v.id);
  for (Value v : program.args) inside.insert(v.id);
  walk(program, [&](const Op& op) {
    for (Value v : op.results) inside.insert(v.id);
    for (const Block& region : op.regions)
      for (Value v : region.args) inside.insert(v.id);
  });
  std::vector<Op> ops;
  for (auto op = program.ops.rbegin(); op != program.ops.rend(); ++op) {
    if (op->results.size() != 1 || !needed.contains(op->results[0].id)) continue;
    if (!op->regions.empty() || has_effect(*op)) return std::nullopt;
    needed.erase(op->results[0].id);
    for (Value v : op->operands) needed.insert(v.id);
    ops.push_back(*op);
  }
  if (std::any_of(needed.begin(), needed.end(), [&](std::uint32_t id) { return inside.contains(id); }))
    return std::nullopt;
  std::reverse(ops.begin(), ops.end());
  return ops;
}

class SkipIdleRows {
 public:
  SkipIdleRows(const Kernel& kernel, Axis row)
      : kernel_(kernel), row_(row), waits_(slice(kernel, others_wait_for)), out_(kernel) {}

  Kernel run() {
    for (Op& op : out_.entry.ops) {
      if (op.code != OpCode::role || out_.roles[static_cast<std::size_t>(op.index)].warpgroups < kLeastGroups) continue;
      for (const Op& waits : waits_.entry.ops)
        if (waits.code == OpCode::role && waits.index == op.index) split(program_of(op), program_of(waits));
    }
    return std::move(out_);
  }

 private:
  void split(Block& program, const Block& waits) {
    const std::optional<std::vector<Value>> rows = stored_rows(program);
    const auto starts = rows ? origins(program, *rows) : std::nullopt;
    if (!starts) return;
    const std::vector<Value> carried(program.args.end() - std::ssize(yielded(program)), program.args.end());
    std::vector<std::string> names;
    for (Value v : carried) names.push_back(out_.name_of(v));

    Block both{.args = program.args, .ops = {}};
    both.args.resize(program.args.size() - carried.size());
    for (Value v : carried) both.args.push_back(out_.add_value(out_.type(v), out_.name_of(v)));
    const std::vector<Value> entering(both.args.end() - std::ssize(carried), both.args.end());
    Builder b(out_, both);
    const Value live = rows_exist(*starts, *rows, b);
    const std::vector<Value> waited =
        b.when(b.unary(OpCode::logical_not, live), entering, names,
               [&](Builder& in, std::span<const Value> args) { return wait_only(waits, carried, args, in); });
    const std::vector<Value> computed = compute(program, live, waited, b);
    if (yields(program)) b.yield(computed);
    program = std::move(both);
  }

  // Where along the row axis begins what the program stores. None if something is stored that has no such start, as
  // tiles of token orders, whose last places need not be the absent ones.
  std::optional<std::vector<Value>> stored_rows(const Block& program) const {
    std::vector<Value> rows;
    bool all = true;
    walk(program, [&](const Op& op) {
      if (op.code != OpCode::store && op.code != OpCode::send) return;
      const std::vector<Axis>& axes = kernel_.params[static_cast<std::size_t>(op.index)].axes;
      const std::size_t at = 1 + static_cast<std::size_t>(std::find(axes.begin(), axes.end(), row_) - axes.begin());
      all = all && at < op.operands.size() && kernel_.type(op.operands[at]).is_scalar();
      if (all) rows.push_back(op.operands[at]);
    });
    return all && !rows.empty() ? std::optional(rows) : std::nullopt;
  }

  // Whether the axis goes on where this warpgroup begins to store.
  Value rows_exist(const std::vector<Op>& starts, const std::vector<Value>& rows, Builder& b) {
    Rewriter copy(kernel_, out_, nullptr);
    map_to_themselves(copy);
    for (const Op& op : starts) copy.op(op, b);
    Value exist;
    for (Value row : rows) {
      const Value before = b.binary(OpCode::lt, copy[row], b.length(row_));
      exist = exist ? b.binary(OpCode::logical_or, exist, before) : before;
    }
    return exist;
  }

  // A copy of the program that only waits and arrives. A carried value that no barrier asks for is not in it and stays
  // as it is.
  std::vector<Value> wait_only(const Block& waits, const std::vector<Value>& carried, std::span<const Value> args,
                               Builder& in) {
    Rewriter copy(waits_, out_, nullptr);
    map_to_themselves(copy);
    for (std::size_t i = 0; i < carried.size(); ++i) copy.map(carried[i], args[i]);
    copy.block(waits, in);
    const std::vector<Value> next = yielded(waits);
    std::vector<Value> results(args.begin(), args.end());
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Value of = waits.args[waits.args.size() - next.size() + i];
      results[static_cast<std::size_t>(std::find(carried.begin(), carried.end(), of) - carried.begin())] =
          copy[next[i]];
    }
    return results;
  }

  // The program itself, whose values stay as they are.
  std::vector<Value> compute(const Block& program, Value live, const std::vector<Value>& waited, Builder& b) {
    Op when{.code = OpCode::when, .operands = {live}, .regions = {program}};
    when.operands.insert(when.operands.end(), waited.begin(), waited.end());
    for (Value v : waited) when.results.push_back(out_.add_value(out_.type(v), out_.name_of(v)));
    Block& body = when.regions[0];
    body.args.erase(body.args.begin(), body.args.end() - std::ssize(waited));
    if (!yields(program)) body.ops.push_back({.code = OpCode::yield});
    return b.push(std::move(when)).results;
  }

  void map_to_themselves(Rewriter& copy) const {
    for (std::uint32_t id = 0; id < kernel_.values.size(); ++id) copy.map({id}, {id});
  }

  const Kernel& kernel_;
  const Axis row_;
  const Kernel waits_;
  Kernel out_;
};

}  // namespace

Kernel skip_idle_rows(const Kernel& kernel, const LayoutRule& rule) {
  return rule.has_products() ? SkipIdleRows(kernel, rule.row().axis).run() : kernel;
}

}  // namespace tessera::backend
