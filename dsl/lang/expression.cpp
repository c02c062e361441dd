#include <tessera/dsl/lang/expression.h>

namespace tessera::detail {

void refuse_zero_divisor(double divisor, SourceLoc loc) {
  if (divisor != 0) return;
  throw UserError(loc, "division of an i32 value by the constant 0", "divide by a number that is not 0");
}

}  // namespace tessera::detail
