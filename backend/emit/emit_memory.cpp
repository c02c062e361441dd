// Global memory: tiles by their layouts, and gathers. What lies outside a tensor reads as 0 and is not written.
//
// Where neighbouring registers hold neighbouring elements, an access has two forms, and a uniform branch on the call's
// pointers and strides picks: instructions of up to 16 bytes, or one an element.
#include <algorithm>

#include <tessera/backend/emit/elements.h>
#include <tessera/backend/emit/global_tile.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/placement.h>
#include <tessera/backend/emit/slots.h>

namespace tessera::backend {

using ir::Op;
using ir::Type;
using llvm::Value;

namespace {

// What memory holds: predicates are bytes.
llvm::Type* memory_type(Emitter& e, DType dtype) {
  switch (dtype) {
    case DType::i1: return e.b.getInt8Ty();
    case DType::i32: return e.b.getInt32Ty();
    case DType::f32: return e.b.getFloatTy();
    default: return e.b.getInt16Ty();
  }
}

llvm::LoadInst* read(Emitter& e, int param, llvm::Type* type, Value* pointer, int bytes) {
  llvm::LoadInst* load = e.b.CreateAlignedLoad(type, pointer, llvm::Align(static_cast<std::uint64_t>(bytes)));
  if (e.kernel.params[param].kind != ir::ParamKind::output)
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.b.getContext(), {}));
  return load;
}

// A run of registers moves as a vector of 32-bit words where elements are packed, else of elements.
int words(const Type& type, int width) { return packed(type) ? width / 2 : width; }

llvm::Type* run_type(Emitter& e, const Type& type, int width) {
  if (width == 1) return memory_type(e, type.dtype);
  llvm::Type* word = packed(type) ? e.b.getInt32Ty() : memory_type(e, type.dtype);
  const int n = words(type, width);
  return n == 1 ? word : llvm::FixedVectorType::get(word, static_cast<unsigned>(n));
}

Values split(Emitter& e, Value* run, int n) {
  if (n == 1) return {run};
  Values parts;
  for (int i = 0; i < n; ++i) parts.push_back(e.b.CreateExtractElement(run, static_cast<std::uint64_t>(i)));
  return parts;
}

// Reads every run of `width` registers; the result has one value a word of a run, in register order.
Values read_runs(Emitter& e, int param, const Type& type, const GlobalTile& tile, int width) {
  const int bytes = bytes_of(type.dtype) * width, n = width == 1 ? 1 : words(type, width);
  Values values(static_cast<std::size_t>(registers_of(type) / width * n), nullptr);
  llvm::Type* run = run_type(e, type, width);
  for (const GlobalTile::Group& group : tile.groups(width)) {
    llvm::BasicBlock *before = e.b.GetInsertBlock(), *inside = nullptr, *end = nullptr;
    if (group.exists) {
      inside = e.block("inside"), end = e.block("loaded");
      e.b.CreateCondBr(group.exists, inside, end);
      e.b.SetInsertPoint(inside);
    }
    Values loaded;
    for (int r : group.first)
      for (Value* part : split(e, read(e, param, run, tile.pointer(r, width), bytes), n)) loaded.push_back(part);
    if (group.exists) {
      e.b.CreateBr(end);
      e.b.SetInsertPoint(end);
      for (Value*& v : loaded) {
        llvm::PHINode* phi = e.b.CreatePHI(v->getType(), 2);
        phi->addIncoming(v, inside);
        phi->addIncoming(llvm::Constant::getNullValue(v->getType()), before);
        v = phi;
      }
    }
    for (std::size_t i = 0; i < group.first.size(); ++i)
      for (int k = 0; k < n; ++k) values[group.first[i] / width * n + k] = loaded[i * n + k];
  }
  return values;
}

// Single elements as the tile keeps them.
Values from_elements(Emitter& e, const Type& type, Values elements) {
  if (type.dtype == DType::i1)
    for (Value*& v : elements) v = e.b.CreateICmpNE(v, e.b.getInt8(0));
  return make_raw(e, type, [&](int r) { return elements[r]; }).regs;
}

void write_runs(Emitter& e, const Type& type, const Bound& value, const GlobalTile& tile, int width, Value* once) {
  const int bytes = bytes_of(type.dtype) * width;
  for (const GlobalTile::Group& group : tile.groups(width)) {
    const auto body = [&] {
      for (int r : group.first) {
        Value* run = nullptr;
        if (width == 1) {
          run = raw_element(e, value, type, r);
          if (type.dtype == DType::i1) run = e.b.CreateZExt(run, e.b.getInt8Ty());
        } else if (const int n = words(type, width); n == 1) {
          run = value.regs[packed(type) ? r / 2 : r];
        } else {
          run = llvm::PoisonValue::get(run_type(e, type, width));
          for (int i = 0; i < n; ++i)
            run =
                e.b.CreateInsertElement(run, value.regs[(packed(type) ? r / 2 : r) + i], static_cast<std::uint64_t>(i));
        }
        e.b.CreateAlignedStore(run, tile.pointer(r, width), llvm::Align(static_cast<std::uint64_t>(bytes)));
      }
    };
    Value* exists = group.exists && once ? e.b.CreateAnd(group.exists, once) : group.exists ? group.exists : once;
    exists ? e.when(exists, "inside", body) : body();
  }
}

// Predicates are bytes in memory and bits in registers: they move one at a time.
int width_of(const GlobalTile& tile, const Type& type) { return type.dtype == DType::i1 ? 1 : tile.width(); }

std::vector<Bound> coordinates(Emitter& e, const Op& op, std::size_t first) {
  const std::size_t n = e.kernel.params[op.index].axes.size();
  std::vector<Bound> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(e[op.operands.at(first + i)]);
  return all;
}

}  // namespace

void emit_load(Emitter& e, const Op& op) {
  const Type& type = e.type(op.results[0]);
  const std::size_t axes = e.kernel.params[op.index].axes.size();
  Value* bound = op.operands.size() > axes ? e.scalar(op.operands[axes]) : nullptr;
  const GlobalTile tile(e, op.index, type, coordinates(e, op, 0), op.axis, bound);
  const int width = width_of(tile, type);
  const auto singly = [&] { return from_elements(e, type, read_runs(e, op.index, type, tile, 1)); };
  if (width == 1) return e.bind(op.results[0], {.regs = singly()});
  llvm::BasicBlock *wide = e.block("wide"), *single = e.block("single"), *end = e.block("loaded");
  e.b.CreateCondBr(tile.aligned(), wide, single);
  e.b.SetInsertPoint(wide);
  const Values a = read_runs(e, op.index, type, tile, width);
  llvm::BasicBlock* wide_end = e.b.GetInsertBlock();
  e.b.CreateBr(end);
  e.b.SetInsertPoint(single);
  const Values b = singly();
  llvm::BasicBlock* single_end = e.b.GetInsertBlock();
  e.b.CreateBr(end);
  e.b.SetInsertPoint(end);
  Bound result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    llvm::PHINode* phi = e.b.CreatePHI(a[i]->getType(), 2);
    phi->addIncoming(a[i], wide_end);
    phi->addIncoming(b[i], single_end);
    result.regs.push_back(phi);
  }
  e.bind(op.results[0], std::move(result));
}

void emit_store(Emitter& e, const Op& op) {
  e.finish_program(op);
  const Type& type = e.type(op.operands[0]);
  const Bound value = e[op.operands[0]];
  const GlobalTile tile(e, op.index, type, coordinates(e, op, 1), {}, nullptr);
  Value* once = type.is_scalar() ? e.scope.leader : first_copy(e, *type.layout);
  const int width = width_of(tile, type);
  if (width == 1) return write_runs(e, type, value, tile, 1, once);
  llvm::BasicBlock *wide = e.block("wide"), *single = e.block("single"), *end = e.block("stored");
  e.b.CreateCondBr(tile.aligned(), wide, single);
  e.b.SetInsertPoint(wide);
  write_runs(e, type, value, tile, width, once);
  e.b.CreateBr(end);
  e.b.SetInsertPoint(single);
  write_runs(e, type, value, tile, 1, once);
  e.b.CreateBr(end);
  e.b.SetInsertPoint(end);
}

// Every index is clamped into range, so every address is inside; tables are contiguous, tensors have strides. One
// without elements is taken to be a single zero.
void emit_gather(Emitter& e, const Op& op) {
  const Type& type = e.type(op.results[0]);
  const ir::Param& param = e.kernel.params[op.index];
  const bool table = param.kind == ir::ParamKind::table;
  Value* pointer = e.slot({.kind = SlotKind::pointer, .param = op.index});
  const int dims = static_cast<int>(op.operands.size());
  const int implicit = table ? 0 : static_cast<int>(implicit_axes(e.kernel, param).size());
  Value* first = table ? e.b.getInt64(0) : program_offset(e, op.index);
  Values extents;
  Value* empty = e.b.getFalse();
  for (int d = 0; d < dims; ++d) {
    extents.push_back(table ? e.slot({.kind = SlotKind::extent, .param = op.index, .dim = d})
                            : e.length(param.axes[d]));
    empty = e.b.CreateOr(empty, e.b.CreateICmpSLE(extents.back(), e.i32(0)));
  }
  pointer = e.b.CreateSelect(empty, e.zero(), pointer);
  first = e.b.CreateSelect(empty, e.b.getInt64(0), first);
  for (Value*& extent : extents) extent = e.b.CreateSelect(empty, e.i32(1), extent);
  const auto address = [&](int r) {
    Value* offset = first;
    for (int d = 0; d < dims; ++d) {
      const Type& index = e.type(op.operands[d]);
      Value* at = e[op.operands[d]].regs[index.is_scalar() ? 0 : e.registers(type, index)[r]];
      at = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, at, e.b.CreateSub(extents[d], e.i32(1)));
      at = e.b.CreateSExt(e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, at, e.i32(0)), e.b.getInt64Ty());
      if (table)
        offset = e.b.CreateAdd(d ? e.b.CreateMul(offset, e.b.CreateZExt(extents[d], e.b.getInt64Ty())) : offset, at);
      else
        offset = e.b.CreateAdd(
            offset, e.b.CreateMul(at, e.slot({.kind = SlotKind::stride, .param = op.index, .dim = implicit + d})));
    }
    return e.b.CreateGEP(e.b.getInt8Ty(), pointer, e.b.CreateMul(offset, e.b.getInt64(bytes_of(type.dtype))));
  };
  Bound result = make_raw(e, type, [&](int r) -> Value* {
    Value* v = read(e, op.index, memory_type(e, type.dtype), address(r), bytes_of(type.dtype));
    return type.dtype == DType::i1 ? e.b.CreateICmpNE(v, e.b.getInt8(0)) : v;
  });
  result.position = param.indices && type.is_scalar();
  e.bind(op.results[0], std::move(result));
}

}  // namespace tessera::backend
