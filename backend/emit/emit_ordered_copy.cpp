// Copies of tiles of token orders.
#include <tessera/backend/emit/copy.h>
#include <tessera/backend/emit/ops.h>
#include <tessera/backend/emit/ordered_boxes.h>

namespace tessera::backend {

using llvm::Value;

void emit_ordered_copy(Emitter& e, const ir::Op& op) {
  auto& b = e.b;
  const Bound view = e[op.operands[0]];
  Value *barrier = copy_barrier(e, op), *column = e.scalar(op.operands[4]);
  Value* bound = op.axis ? e.scalar(op.operands.back()) : nullptr;
  OrderedBoxes(e, op.index, e[op.operands[3]], bound).emit([&](Value* map, Value* row, const Values& at) {
    for (int chunk = 0; chunk < view.ring->chunks; ++chunk) {
      Value* offset = b.CreateAdd(b.CreateMul(row, e.i32(kRowBytes)), e.i32(chunk * view.ring->chunk_bytes()));
      Values coordinates{b.CreateAdd(column, e.i32(kChunkColumns * chunk))};
      coordinates.insert(coordinates.end(), at.begin(), at.end());
      copy_box(e, e.shared(b.CreateAdd(view.offset, offset)), barrier, map, coordinates);
    }
  });
}

}  // namespace tessera::backend
