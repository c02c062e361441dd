// One function for each family of ops, each in the file of its name (emit_*.cpp).
#pragma once

#include <tessera/backend/emit/emitter.h>

namespace tessera::backend {

void emit_leaf(Emitter& e, const ir::Op& op);  // constant, iota, program_id, length, scalar, group_id
void emit_tile_at(Emitter& e, const ir::Op& op);
void emit_places(Emitter& e, const ir::Op& op);  // position, exists
void emit_elementwise(Emitter& e, const ir::Op& op);
void emit_reduce(Emitter& e, const ir::Op& op);
void emit_partial_sum(Emitter& e, const ir::Op& op);
void emit_broadcast(Emitter& e, const ir::Op& op);
void emit_convert(Emitter& e, const ir::Op& op);
void emit_load(Emitter& e, const ir::Op& op);
void emit_store(Emitter& e, const ir::Op& op);
void emit_gather(Emitter& e, const ir::Op& op);
void emit_loop(Emitter& e, const ir::Op& op);
void emit_when(Emitter& e, const ir::Op& op);
void emit_programs(Emitter& e, const ir::Op& op);
void emit_role(Emitter& e, const ir::Op& op);
void emit_slot(Emitter& e, const ir::Op& op);
void emit_rows(Emitter& e, const ir::Op& op);
void emit_copy(Emitter& e, const ir::Op& op);
void emit_ordered_copy(Emitter& e, const ir::Op& op);  // of a tile of a token order
void emit_write(Emitter& e, const ir::Op& op);
void emit_send(Emitter& e, const ir::Op& op);
void emit_ordered_send(Emitter& e, const ir::Op& op);  // of a tile of a token order
void emit_send_wait(Emitter& e);
void emit_barrier(Emitter& e, const ir::Op& op);  // expect, arrive, wait
void emit_turn(Emitter& e, const ir::Op& op);     // turn_wait, turn_pass
void emit_mma(Emitter& e, const ir::Op& op);
void emit_mma_wait(Emitter& e, const ir::Op& op);

}  // namespace tessera::backend
