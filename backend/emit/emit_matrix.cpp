// Warpgroup matrix products: 64 rows by N columns, 16 of the contracted axis at a time.
//
// A shared-memory operand is named by a descriptor: start address, swizzle, and two strides. Which of the tile's axes
// is contracted decides its form:
//   the last one (contiguous): K-major. 16 of K are 32 bytes within a row; after 64, the next chunk of columns.
//   the first one: MN-major. 16 of K are 16 rows of 128 bytes; N runs along the chunks, whose distance is the leading
//   stride.
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/ptx_asm.h>

namespace tessera::backend {

using ir::Op;
using ir::Type;
using ir::TypeKind;
using llvm::Value;

namespace {

constexpr int kStep = 16;  // of the contracted axis in one instruction

InternalError refuse(const Op& op, Emitter& e, const std::string& why) {
  return InternalError("mma of " + to_string(e.type(op.operands[0])) + " and " + to_string(e.type(op.operands[1])) +
                       " over " + op.axis.name() + ": " + why);
}

struct SharedOperand {
  Value* descriptor = nullptr;  // of the first step
  bool transposed = false;      // MN-major
  const Ring* ring = nullptr;

  // Descriptor of step `k`: addresses count 16 bytes.
  Value* step(Emitter& e, int k) const {
    const int per_chunk = kChunkColumns / kStep;
    const int bytes =
        transposed ? k * kStep * kRowBytes : k / per_chunk * ring->chunk_bytes() + k % per_chunk * kStep * 2;
    return e.b.CreateAdd(descriptor, e.b.getInt64(static_cast<std::uint64_t>(bytes / 16)));
  }
};

SharedOperand shared_operand(Emitter& e, const Op& op, ir::Value v) {
  const Type& type = e.type(v);
  const Bound& view = e[v];
  SharedOperand operand{.transposed = type.dims.at(0).axis == op.axis, .ring = view.ring};
  if (operand.transposed && type.dims[0].extent % kStep != 0) throw refuse(op, e, "it contracts a part of 16 rows");
  const std::uint64_t leading = operand.transposed ? static_cast<std::uint64_t>(view.ring->chunk_bytes()) / 16 : 1;
  const std::uint64_t fixed = std::uint64_t{1} << 62 | std::uint64_t{8 * kRowBytes / 16} << 32 | leading << 16;
  Value* units = e.b.CreateLShr(e.b.CreateAnd(e.shared_address(view.offset), 0x3FFFF), 4);
  operand.descriptor = e.b.CreateOr(e.b.CreateZExt(units, e.b.getInt64Ty()), e.b.getInt64(fixed));
  return operand;
}

// Rows, columns and contracted extent; checked against what the instruction can do.
struct Shape {
  int n = 0, steps = 0;
  bool a_in_registers = false;
};

Shape shape_of(Emitter& e, const Op& op) {
  const Type &a = e.type(op.operands[0]), &b = e.type(op.operands[1]), &d = e.type(op.results[0]);
  const auto other = [&](const Type& t) { return t.dims.at(0).axis == op.axis ? t.dims.at(1) : t.dims.at(0); };
  const ir::Dim rows = other(a), columns = other(b);
  const int k = a.extent(op.axis);
  Shape shape{.n = columns.extent, .steps = (k + kStep - 1) / kStep, .a_in_registers = a.kind == TypeKind::tile};
  if (rows.extent != 64) throw refuse(op, e, "a warpgroup multiplies 64 rows");
  if (shape.n % 8 != 0 || shape.n > 256) throw refuse(op, e, "columns must be a multiple of 8, at most 256");
  if (b.extent(op.axis) != k) throw refuse(op, e, "the contracted extents differ");
  if (a.dtype != b.dtype || (a.dtype != DType::bf16 && a.dtype != DType::f16))
    throw refuse(op, e, "operands must both be bf16 or both f16");
  if (!same_places(d, *d.layout, product_layout(rows.axis, columns.axis, shape.n)))
    throw refuse(op, e, "the result's layout is not the accumulator's: " + to_string(*d.layout));
  if (shape.a_in_registers && (k % kStep != 0 || !same_places(a, *a.layout, product_layout(rows.axis, op.axis, k))))
    throw refuse(op, e, "the first operand's layout is not the accumulator's: " + to_string(*a.layout));
  return shape;
}

}  // namespace

void emit_mma(Emitter& e, const Op& op) {
  const Shape shape = shape_of(e, op);
  const Bound a = e[op.operands[0]];
  ProductStep step{.dtype = std::string(name_of(e.type(op.operands[0]).dtype)), .n = shape.n};
  SharedOperand a_shared;
  if (!shape.a_in_registers) a_shared = shared_operand(e, op, op.operands[0]);
  const SharedOperand b_shared = shared_operand(e, op, op.operands[1]);
  step.a_transposed = a_shared.transposed;
  step.b_transposed = b_shared.transposed;
  if (op.operands.size() > 2) step.accumulator = e[op.operands[2]].regs;
  for (int k = 0; k < shape.steps; ++k) {
    if (shape.a_in_registers)
      step.a_registers.assign(a.regs.begin() + 4 * k, a.regs.begin() + 4 * k + 4);
    else
      step.a_descriptor = a_shared.step(e, k);
    step.b_descriptor = b_shared.step(e, k);
    step.accumulator = product_step(e.b, step);
  }
  e.bind(op.results[0], {.regs = step.accumulator});
}

void emit_mma_wait(Emitter& e, const Op& op) {
  Values values;
  for (ir::Value v : op.operands) {
    const Type& type = e.type(v);
    llvm::Type* word = register_type(e, type);
    if (!word->isFloatTy() && !word->isIntegerTy(32))
      throw InternalError("mma_wait cannot pass " + to_string(type) + " through");
    values.insert(values.end(), e[v].regs.begin(), e[v].regs.end());
  }
  const Values waited = wait_products(e.b, op.index, values);
  auto next = waited.begin();
  for (std::size_t i = 0; i < op.results.size(); ++i) {
    const auto n = static_cast<std::ptrdiff_t>(e[op.operands[i]].regs.size());
    e.bind(op.results[i], {.regs = Values(next, next + n)});
    next += n;
  }
}

}  // namespace tessera::backend
