#include <tessera/backend/passes/skip_idle_rows.h>

#include <algorithm>
#include <optional>

#include <tessera/backend/passes/slice.h>
#include <tessera/backend/warpgroup.h>
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

// The place in the grid of the axis whose rows warpgroups divide among them. None where its tiles are no runs of
// tokens.
std::optional<std::size_t> run_of_rows(const Kernel& kernel, const LayoutRule& rule) {
  if (!rule.has_products()) return std::nullopt;
  const auto at = std::find(kernel.grid.begin(), kernel.grid.end(), rule.row().axis);
  const auto i = static_cast<std::size_t>(at - kernel.grid.begin());
  return at == kernel.grid.end() || kernel.grid_order(i) ? std::nullopt : std::optional(i);
}

// What the next program of the role begins with; nothing where `program` is all that the role runs.
std::vector<Value> yielded(const Block& program) {
  const bool yields = !program.ops.empty() && program.ops.back().code == OpCode::yield;
  return yields ? program.ops.back().operands : std::vector<Value>{};
}

class SkipIdleRows {
 public:
  explicit SkipIdleRows(const Kernel& kernel) : waits_(slice(kernel, others_wait_for)), out_(kernel) {}

  Kernel run(std::size_t axis) {
    for (Op& op : out_.entry.ops) {
      if (op.code != OpCode::role) continue;
      const Role& role = out_.roles[static_cast<std::size_t>(op.index)];
      const auto same = std::find_if(waits_.entry.ops.begin(), waits_.entry.ops.end(), [&](const Op& other) {
        return other.code == OpCode::role && other.index == op.index;
      });
      if (role.warpgroups >= kLeastGroups && same != waits_.entry.ops.end())
        split(program_of(op), program_of(*same), axis);
    }
    return std::move(out_);
  }

 private:
  void split(Block& program, const Block& waits, std::size_t axis) {
    const auto carried = program.args.end() - static_cast<std::ptrdiff_t>(yielded(program).size());
    const std::vector<Value> inside(carried, program.args.end());
    std::vector<std::string> names;
    for (Value v : inside) names.push_back(out_.name_of(v));
    program.args.erase(carried, program.args.end());

    Block both{.args = program.args, .ops = {}};
    for (Value v : inside) both.args.push_back(out_.add_value(out_.type(v), out_.name_of(v)));
    const std::vector<Value> entering(both.args.end() - std::ssize(inside), both.args.end());
    Builder b(out_, both);
    const Value live = rows_exist(b, axis);
    const std::vector<Value> waited =
        b.when(b.unary(OpCode::logical_not, live), entering, names,
               [&](Builder& in, std::span<const Value> args) { return wait_only(waits, inside, args, in); });
    const bool ends = !program.ops.empty() && program.ops.back().code == OpCode::yield;
    program.args = inside;
    const std::vector<Value> computed = compute(std::move(program), live, waited, b);
    if (ends) b.yield(computed);
    program = std::move(both);
  }

  Value rows_exist(Builder& b, std::size_t axis) {
    const Value group = b.mul(b.append_value(OpCode::group_id, {}, Type::scalar(DType::i32)), kGroupRows);
    const Value first = b.mul(b.program_id(out_.grid[axis]), out_.grid_tiles[axis].extent);
    return b.binary(OpCode::lt, b.add(first, group), b.length(out_.grid[axis]));
  }

  // A copy of the program that only waits and arrives. What it does not define itself stands outside; a carried value
  // that no barrier asks for is not in it and stays as it is.
  std::vector<Value> wait_only(const Block& waits, std::span<const Value> inside, std::span<const Value> args,
                               Builder& in) {
    Rewriter copy(waits_, out_, nullptr);
    for (std::uint32_t id = 0; id < waits_.values.size(); ++id) copy.map({id}, {id});
    for (std::size_t i = 0; i < inside.size(); ++i) copy.map(inside[i], args[i]);
    copy.block(waits, in);
    const std::vector<Value> next = yielded(waits);
    std::vector<Value> results(args.begin(), args.end());
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Value of = waits.args[waits.args.size() - next.size() + i];
      results[static_cast<std::size_t>(std::find(inside.begin(), inside.end(), of) - inside.begin())] = copy[next[i]];
    }
    return results;
  }

  // The program itself, whose values stay as they are.
  std::vector<Value> compute(Block program, Value live, const std::vector<Value>& waited, Builder& b) {
    Op when{.code = OpCode::when, .operands = {live}};
    when.operands.insert(when.operands.end(), waited.begin(), waited.end());
    for (Value v : waited) when.results.push_back(out_.add_value(out_.type(v), out_.name_of(v)));
    if (program.ops.empty() || program.ops.back().code != OpCode::yield) program.ops.push_back({.code = OpCode::yield});
    when.regions.push_back(std::move(program));
    return b.push(std::move(when)).results;
  }

  const Kernel waits_;
  Kernel out_;
};

}  // namespace

Kernel skip_idle_rows(const Kernel& kernel, const LayoutRule& rule) {
  const std::optional<std::size_t> axis = run_of_rows(kernel, rule);
  return axis ? SkipIdleRows(kernel).run(*axis) : kernel;
}

}  // namespace tessera::backend
