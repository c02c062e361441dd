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

namespace {

const char* text_of(ir::ParamKind kind) {
  switch (kind) {
    case ir::ParamKind::input: return "an In";
    case ir::ParamKind::output: return "an Out";
    case ir::ParamKind::scalar: return "a Scalar";
    case ir::ParamKind::table: return "a Lookup";
  }
  return "an argument";
}

std::string text_of(const ir::Param& param) {
  std::string text = std::string(text_of(param.kind)) + " of " + std::string(name_of(param.dtype));
  if (param.kind == ir::ParamKind::table) return text + " and rank " + std::to_string(param.rank);
  for (std::size_t i = 0; i < param.axes.size(); ++i) text += (i == 0 ? "[" : ", ") + param.axes[i].name();
  return param.axes.empty() ? text : text + "]";
}

// The struct of one stage may have other element types than that of the other: Args<bound, f16> for Args<traced, bf16>.
void check_same_argument(const ir::Kernel& traced, const ir::Param& wanted, const ir::Param& given, SourceLoc loc) {
  if (given.kind == wanted.kind && given.dtype == wanted.dtype && given.axes == wanted.axes &&
      given.rank == wanted.rank)
    return;
  throw UserError(loc,
                  "argument '" + wanted.name + "' of kernel '" + traced.name + "' is " + text_of(wanted) +
                      ", and that of the argument struct is " + text_of(given),
                  "call it with the struct that it was traced with, and the same element types");
}

}  // namespace

std::vector<ir::Argument> match_arguments(const ir::Kernel& traced, std::vector<NamedArgument> given, SourceLoc loc) {
  std::vector<ir::Argument> arguments;
  std::vector<bool> taken(given.size(), false);
  for (const ir::Param& param : traced.params) {
    const std::size_t before = arguments.size();
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i].param.name != param.name) continue;
      check_same_argument(traced, param, given[i].param, loc);
      if (!given[i].given) {
        throw UserError(loc, "kernel '" + traced.name + "' is called without its argument '" + param.name + "'",
                        "set ." + param.name + " in the argument struct");
      }
      arguments.push_back(given[i].value);
      taken[i] = true;
    }
    if (arguments.size() != before + 1)
      throw UserError(loc,
                      "kernel '" + traced.name + "' has an argument '" + param.name +
                          "', and the argument struct of the call has none of that name",
                      "call it with the struct that it was traced with");
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].given || taken[i]) continue;
    const std::string& name = given[i].param.name;
    throw UserError(loc, "kernel '" + traced.name + "' has no use for the argument '" + name + "' that it is given",
                    "leave ." + name + " out, or trace the kernel so that it uses it");
  }
  return arguments;
}

}  // namespace tessera::detail
