// Folds constants, applies identities, shares common subexpressions, drops dead code and renumbers.
//
//   %1 = mul %0, 1        ->  %0                      %3 = select true, %a, %b   ->  %a
//   %2 = add %x, dot(a,b) ->  dot(a, b, %x)           loop 0 to 0 (%s = %0)      ->  %0
//
// Works on any stage before placed. Pure ops are renumbered from the stores and yields backwards, so that the printed
// kernel does not depend on the order in which a C++ compiler evaluated the operands of an expression. Loop-invariant
// pure ops move out of loops. Float identities are only those that hold for every value (x * 1, not x * 0).
#pragma once

#include <tessera/dsl/ir/ir.h>

namespace tessera::passes {

ir::Kernel simplify(const ir::Kernel& kernel);
ir::Function simplify(const ir::Function& function);

}  // namespace tessera::passes
