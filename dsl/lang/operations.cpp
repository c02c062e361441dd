// The untyped operations of trace.h: each checks its operands' trace and region and appends one op.
#include <cmath>
#include <limits>

#include <tessera/dsl/ir/rewrite.h>
#include <tessera/dsl/lang/trace.h>

namespace tessera::detail {

Handle constant(double number, DType dtype, std::vector<ir::Dim> dims, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  if (dtype == DType::i32 && (number < -2147483648.0 || number > 2147483647.0)) {
    throw UserError(loc, "the number " + std::to_string(static_cast<long long>(number)) + " does not fit i32",
                    "positions and tables hold 32-bit integers");
  }
  return trace.made(trace.builder(loc).constant(number, ir::Type::tile(dtype, std::move(dims))));
}

Handle unary(ir::OpCode code, Handle a, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const ir::Value x = trace.use(a, loc);
  return trace.made(trace.builder(loc).unary(code, x));
}

Handle binary(ir::OpCode code, Handle a, Handle b, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const ir::Value x = trace.use(a, loc), y = trace.use(b, loc);
  return trace.made(trace.builder(loc).binary(code, x, y));
}

Handle select(Handle condition, Handle a, Handle b, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const ir::Value c = trace.use(condition, loc), x = trace.use(a, loc), y = trace.use(b, loc);
  return trace.made(trace.builder(loc).select(c, x, y));
}

Handle cast(Handle a, DType to, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const ir::Value x = trace.use(a, loc);
  if (trace.type(a).dtype == to) return a;
  return trace.made(trace.builder(loc).cast(x, to));
}

Handle reduce(ir::OpCode code, Handle a, ir::Axis axis, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const ir::Value x = trace.use(a, loc);
  return trace.made(trace.builder(loc).reduce(code, x, axis));
}

Handle dot(Handle a, Handle b, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const ir::Value x = trace.use(a, loc), y = trace.use(b, loc);
  return trace.made(trace.builder(loc).dot(x, y));
}

Handle in_order(Handle a, const std::vector<ir::Dim>& dims, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const ir::Value x = trace.use(a, loc);
  const std::vector<ir::Dim>& have = trace.type(a).dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i >= have.size() || !(have[i].axis == dims[i].axis)) return trace.made(trace.builder(loc).broadcast(x, dims));
  }
  return a;
}

namespace {

bool on_grid(const Trace& trace, ir::Axis axis) {
  for (ir::Axis a : trace.program().kernel.grid) {
    if (a == axis) return true;
  }
  return false;
}

void require_grid(const Trace& trace, ir::Axis axis, const std::string& construct, SourceLoc loc) {
  if (on_grid(trace, axis)) return;
  std::string grid;
  for (ir::Axis a : trace.program().kernel.grid) grid += (grid.empty() ? "" : ", ") + a.name();
  throw UserError(loc, construct + " needs " + axis.name() + " on the kernel's grid, which is grid<" + grid + ">",
                  "add " + axis.name() + " to the grid, or loop over it");
}

}  // namespace

Handle index(ir::Axis axis, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "index");
  require_grid(trace, axis, "index<" + axis.name() + ">()", loc);
  for (const ir::Param& p : trace.program().kernel.params) {
    for (ir::Axis a : p.axes) {
      if (!(a == axis)) continue;
      throw UserError(loc,
                      "index<" + axis.name() + ">() of an axis that '" + p.name + "' is read or written along in tiles",
                      "use positions<" + axis.name() + ">(), which has one element a token");
    }
  }
  return trace.made(trace.builder(loc).program_id(axis));
}

Handle length(ir::Axis axis, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "length");
  return trace.made(trace.builder(loc).length(axis));
}

Handle grid_positions(ir::Axis axis, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "positions");
  require_grid(trace, axis, "positions<" + axis.name() + ">()", loc);
  return trace.made(trace.builder(loc).position({axis, 0}));
}

Handle tile_positions(ir::Axis axis, Handle tile, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "positions");
  const ir::Value t = trace.use(tile, loc);
  return trace.made(trace.builder(loc).position({axis, 0}, t));
}

Handle allowed(int function, ir::Axis looped, ir::Axis other, Handle tile, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "allowed");
  const ir::Value t = trace.use(tile, loc);
  require_grid(trace, other, "the mask of over<" + looped.name() + ">", loc);
  trace.heed_mask(looped);
  const bool keys = looped.name() == "Key";
  const ir::Dim a{keys ? other : looped, 0}, b{keys ? looped : other, 0};
  return trace.made(trace.builder(loc).allowed(function, a, b, t));
}

void ignore_mask(int function, ir::Axis looped, Handle tile, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "ignore_mask");
  trace.use(tile, loc);
  if (function < 0) {
    throw UserError(loc, "ignore_mask in a loop over every tile of " + looped.name() + ", which has no mask",
                    "leave it out, or walk the tiles that a mask needs: over<" + looped.name() + ">(mask, ...)");
  }
  trace.heed_mask(looped);
}

Handle apply(const std::shared_ptr<const mask::Pointwise>& score, Handle tile, Handle value, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "apply");
  const ir::Value t = trace.use(tile, loc), x = trace.use(value, loc);
  const int function = trace.function(score);
  return trace.made(trace.builder(loc).apply(function, t, {&x, 1}));
}

Handle scalar(int param, DType dtype, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "a Scalar argument");
  return trace.made(trace.builder(loc).scalar(param, dtype));
}

Handle gather(int param, DType dtype, std::span<const Handle> indices, SourceLoc loc) {
  Trace& trace = Trace::kernel(loc, "a Lookup argument");
  const std::vector<ir::Value> at = trace.use(indices, loc);
  return trace.made(trace.builder(loc).gather(param, dtype, at));
}

Handle scalar(const std::string& name, DType dtype, double value, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const int param = trace.capture(name, dtype, value, loc);
  return trace.made(trace.builder(loc).scalar(param, dtype));
}

Handle gather(const TableSource& table, std::span<const Handle> indices, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  const std::vector<ir::Value> at = trace.use(indices, loc);
  const int param = trace.capture(table, loc);
  return trace.made(trace.builder(loc).gather(param, table.dtype, at));
}

Handle call(const mask::Pointwise& predicate, std::vector<Handle> positions, SourceLoc loc) {
  Trace& trace = Trace::current(loc);
  trace.take_lengths(predicate.lengths, loc);
  const std::vector<ir::Value> at = trace.use(positions, loc);
  ir::Function function = predicate.function;
  std::vector<int> params;  // where the predicate's are among those of the function that calls it
  for (std::size_t i = 0; i < function.params.size(); ++i) {
    const ir::Param& param = function.params[i];
    const mask::Capture& capture = predicate.captures[i];
    params.push_back(param.kind == ir::ParamKind::scalar
                         ? trace.capture(param.name, param.dtype, capture.value, loc)
                         : trace.capture(TableSource{capture.table, param.name, param.dtype, param.rank}, loc));
  }
  for (ir::Op& op : function.graph.entry.ops) {
    if (op.code == ir::OpCode::gather || op.code == ir::OpCode::scalar)
      op.index = params[static_cast<std::size_t>(op.index)];
  }
  return trace.made(ir::inline_function(function, at, 0, trace.builder(loc)));
}

}  // namespace tessera::detail
