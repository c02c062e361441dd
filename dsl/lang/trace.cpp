#include <tessera/dsl/lang/trace.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace tessera::detail {

namespace {

thread_local Trace* current_trace = nullptr;
std::atomic<std::uint32_t> traces_made{0};

bool same_table(const mask::Capture& a, const ir::Param& param, const TableSource& b) {
  return b.data ? a.table == b.data : !a.table && param.name == b.name;
}

std::string unused_name(const std::vector<ir::Param>& params, const std::string& wanted) {
  auto taken = [&](const std::string& name) {
    for (const ir::Param& p : params) {
      if (p.name == name) return true;
    }
    return false;
  };
  std::string name = wanted;
  for (int i = 1; taken(name); ++i) name = wanted + std::to_string(i);
  return name;
}

}  // namespace

Trace::Trace(Traced& program)
    : program_(&program),
      graph_(&program.kernel),
      root_(*graph_, graph_->entry),
      serial_(++traces_made),
      outer_(current_trace) {
  enter(root_, {}, false, {});
  current_trace = this;
}

Trace::Trace(mask::Pointwise& function)
    : pointwise_(&function),
      graph_(&function.function.graph),
      root_(*graph_, graph_->entry),
      serial_(++traces_made),
      outer_(current_trace) {
  enter(root_, {}, false, function.loc);
  current_trace = this;
}

Trace::~Trace() { current_trace = outer_; }

Trace& Trace::current(SourceLoc loc) {
  if (!current_trace) {
    throw UserError(loc, "a Tile can only be made while a kernel is being traced",
                    "move this into the lambda given to kernel(...), Mask or Score");
  }
  return *current_trace;
}

Trace& Trace::kernel(SourceLoc loc, const char* construct) {
  Trace& trace = current(loc);
  if (!trace.program_) {
    throw UserError(loc,
                    std::string(construct) + " inside a mask or score, which is a function of one query and one key",
                    "read a Table, Param or At there; tiles, loads and loops belong to kernels");
  }
  return trace;
}

ir::Builder& Trace::builder(SourceLoc loc) {
  ir::Builder& builder = *regions_.back().builder;
  builder.set_loc(loc);
  return builder;
}

Handle Trace::made(ir::Value value) const { return {value, serial_, regions_.back().id}; }

bool Trace::active(std::uint32_t region) const {
  for (const Region& r : regions_) {
    if (r.id == region) return true;
  }
  return false;
}

ir::Value Trace::use(Handle handle, SourceLoc loc) const {
  if (handle.trace != serial_) {
    throw UserError(loc, "a value of another trace is used here",
                    "a Tile, Position or argument lives inside the lambda that it was made in or given to");
  }
  if (!active(handle.region)) {
    throw UserError(loc, "a Tile made inside the body of a loop or when is used after it",
                    "make it a field of the carried state and return it from the body");
  }
  return handle.value;
}

std::vector<ir::Value> Trace::use(std::span<const Handle> handles, SourceLoc loc) const {
  std::vector<ir::Value> values;
  for (Handle h : handles) values.push_back(use(h, loc));
  return values;
}

void Trace::enter(ir::Builder& builder, ir::Axis axis, bool repeats, SourceLoc loc) {
  regions_.push_back({&builder, next_region_++, axis, repeats, loc});
}

void Trace::heed_mask(ir::Axis looped) {
  for (Region& region : regions_) region.heeds_mask = region.heeds_mask || region.axis == looped;
}

int Trace::function(const std::shared_ptr<const mask::Pointwise>& function) {
  for (std::size_t i = 0; i < registered_.size(); ++i) {
    if (registered_[i] == function) return static_cast<int>(i);
  }
  registered_.push_back(function);
  program_->functions.push_back(*function);
  program_->kernel.functions.push_back(function->function);
  return static_cast<int>(registered_.size()) - 1;
}

int Trace::capture(const TableSource& table, SourceLoc loc) {
  if (!pointwise_) {
    throw UserError(loc, "a Table is read in a kernel",
                    "masks and scores read Tables; give the kernel a Lookup argument");
  }
  auto& params = pointwise_->function.params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].kind != ir::ParamKind::table || !same_table(pointwise_->captures[i], params[i], table)) continue;
    if (params[i].dtype != table.dtype || params[i].rank != table.rank) {
      throw UserError(loc, "two tables are named '" + table.name + "' and have different types", "rename one of them");
    }
    return static_cast<int>(i);
  }
  const std::string name = table.data ? unused_name(params, table.name.empty() ? "table" : table.name) : table.name;
  params.push_back({.name = name, .kind = ir::ParamKind::table, .dtype = table.dtype, .axes = {}, .rank = table.rank});
  pointwise_->captures.push_back({.table = table.data});
  return static_cast<int>(params.size()) - 1;
}

int Trace::capture(const std::string& name, DType dtype, double value, SourceLoc loc) {
  if (!pointwise_) {
    throw UserError(loc, "Param '" + name + "' is read in a kernel",
                    "masks and scores read Params; give the kernel a Scalar argument");
  }
  auto& params = pointwise_->function.params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].name != name || params[i].kind != ir::ParamKind::scalar) continue;
    if (pointwise_->captures[i].value != value || params[i].dtype != dtype) {
      throw UserError(loc, "two Params are named '" + name + "' and differ in type or default", "rename one of them");
    }
    return static_cast<int>(i);
  }
  params.push_back({.name = name, .kind = ir::ParamKind::scalar, .dtype = dtype, .axes = {}, .rank = 0});
  pointwise_->captures.push_back({.table = nullptr, .value = value});
  return static_cast<int>(params.size()) - 1;
}

void Trace::take_lengths(const std::vector<mask::LengthRule>& lengths, SourceLoc loc) {
  if (!pointwise_) throw UserError(loc, "a Mask is called in a kernel", "kernels walk masks: over<Key>(mask, ...)");
  pointwise_->lengths.insert(pointwise_->lengths.end(), lengths.begin(), lengths.end());
}

void check_name(const char* what, const std::string& name, SourceLoc loc) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool right = !name.empty() && is_letter(name[0]) &&
                     std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || is_digit(c); });
  if (right) return;
  throw UserError(loc, std::string(what) + " cannot be named '" + name + "'",
                  "use letters, digits and underscores, a letter or underscore first");
}

void check_param_value(const std::string& name, double value, SourceLoc loc) {
  if (std::fabs(value) <= std::numeric_limits<float>::max()) return;
  throw UserError(loc, "the default of Param '" + name + "' is " + std::to_string(value) + ", which f32 does not hold",
                  "give a finite number of at most 3.4e38");
}

FunctionTrace::FunctionTrace(const char* name, bool maps_a_value, SourceLoc loc) {
  function_.function.name = name;
  function_.loc = loc;
  ir::Graph& graph = function_.function.graph;
  for (const char* position : {"q", "k", "head", "batch", "query_length", "key_length"}) {
    graph.entry.args.push_back(graph.add_value(ir::Type::scalar(DType::i32), position));
  }
  if (maps_a_value) graph.entry.args.push_back(graph.add_value(ir::Type::scalar(DType::f32), "score"));
  trace_ = std::make_unique<Trace>(function_);
}

Handle FunctionTrace::argument(int index) const {
  return trace_->made(function_.function.graph.entry.args[static_cast<std::size_t>(index)]);
}

mask::Pointwise FunctionTrace::finish(Handle result) {
  const ir::Value value = trace_->use(result, function_.loc);
  trace_->builder(function_.loc).yield({&value, 1});
  trace_.reset();
  return std::move(function_);
}

}  // namespace tessera::detail
