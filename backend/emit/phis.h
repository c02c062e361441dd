// What flows into a region of code and out of it: one phi a scalar.
#pragma once

#include <vector>

#include <tessera/backend/emit/emitter.h>

namespace tessera::backend {

using Phis = std::vector<llvm::PHINode*>;

// The registers of several values, one after the other.
Values flatten(Emitter& e, const std::vector<ir::Value>& values);

Phis make_phis(Emitter& e, const Values& like);
void add_incoming(const Phis& phis, const Values& values, llvm::BasicBlock* from);

// Hands out consecutive phis to values, as many as each has registers.
void bind_phis(Emitter& e, const std::vector<ir::Value>& to, const Phis& phis);

}  // namespace tessera::backend
