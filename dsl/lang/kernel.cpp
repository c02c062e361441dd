#include <tessera/dsl/lang/kernel.h>

#include <algorithm>

#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/ir/verify.h>

namespace tessera::detail {

namespace {

// Whether an op's `index` is one of the kernel's parameters.
bool names_parameter(const ir::Op& op) {
  switch (op.code) {
    case ir::OpCode::load:
    case ir::OpCode::store:
    case ir::OpCode::gather:
    case ir::OpCode::scalar: return true;
    default: return false;
  }
}

void renumber(ir::Block& block, const std::vector<int>& to) {
  for (ir::Op& op : block.ops) {
    if (names_parameter(op)) op.index = to[static_cast<std::size_t>(op.index)];
    for (ir::Block& region : op.regions) renumber(region, to);
  }
}

}  // namespace

void check_kernel_name(const std::string& name, SourceLoc loc) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool right = !name.empty() && is_letter(name[0]) &&
                     std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
  if (right) return;
  throw UserError(loc, "a kernel cannot be named '" + name + "'",
                  "its entry point bears the name: use letters, digits and underscores, a letter or underscore first");
}

KernelTrace::KernelTrace(std::string name, std::vector<ir::Axis> grid, std::vector<ParameterNote> parameters,
                         SourceLoc loc)
    : parameters_(std::move(parameters)), loc_(loc) {
  program_.kernel.name = std::move(name);
  program_.kernel.grid = std::move(grid);
  for (const ParameterNote& note : parameters_) program_.kernel.params.push_back(note.param);
  trace_ = std::make_unique<Trace>(program_);
}

Traced KernelTrace::finish() {
  check_outputs();
  trace_.reset();
  drop_unused_parameters();
  ir::check(program_.kernel, "trace");
  return std::move(program_);
}

void KernelTrace::check_outputs() const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].param.kind != ir::ParamKind::output || parameters_[i].optional) continue;
    bool stored = false;
    for (const Trace::Stored& s : trace_->stores) stored = stored || s.param == static_cast<int>(i);
    if (stored) continue;
    throw UserError(loc_,
                    "kernel '" + program_.kernel.name + "' never stores its output '" + parameters_[i].param.name + "'",
                    "store it, or declare it Optional<Out<...>>");
  }
}

void KernelTrace::drop_unused_parameters() {
  std::vector<bool> used(parameters_.size(), false);
  ir::walk(program_.kernel.entry, [&](const ir::Op& op) {
    if (names_parameter(op)) used[static_cast<std::size_t>(op.index)] = true;
  });
  std::vector<int> to(parameters_.size(), -1);
  std::vector<ir::Param> kept;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].optional && !used[i]) continue;
    to[i] = static_cast<int>(kept.size());
    kept.push_back(parameters_[i].param);
  }
  renumber(program_.kernel.entry, to);
  program_.kernel.params = std::move(kept);
}

std::vector<ir::Argument> match_arguments(const ir::Kernel& traced, std::vector<NamedArgument> given) {
  std::vector<ir::Argument> arguments;
  std::vector<bool> taken(given.size(), false);
  for (const ir::Param& param : traced.params) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].name != param.name) continue;
      if (!given[i].given) {
        throw UserError({}, "kernel '" + traced.name + "' is called without its argument '" + param.name + "'",
                        "set ." + param.name + " in the argument struct");
      }
      arguments.push_back(given[i].value);
      taken[i] = true;
    }
  }
  ensure(arguments.size() == traced.params.size(), "a kernel is called with another kernel's argument struct");
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].given || taken[i]) continue;
    throw UserError({},
                    "kernel '" + traced.name + "' has no use for the argument '" + given[i].name + "' that it is given",
                    "leave ." + given[i].name + " out, or trace the kernel so that it uses it");
  }
  return arguments;
}

}  // namespace tessera::detail
