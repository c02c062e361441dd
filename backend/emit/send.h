// Sends of tiles, as instructions.
#pragma once

#include <tessera/backend/emit/emitter.h>

namespace tessera::backend {

// The address of the warp's 16 rows in the first chunk of a view.
llvm::Value* first_row_of_warp(Emitter& e, llvm::Value* view);

// Copies the warp's rows to the box at these coordinates (all but the columns', innermost first) of `map`, by the one
// thread that gets here.
void send_box(Emitter& e, const ir::Op& send, llvm::Value* map, const Values& at);

}  // namespace tessera::backend
