// The text form of a kernel: what goldens compare, what `tessera inspect` shows, what the parser reads back.
//
//   kernel forward traced grid(Query, Head, Batch) {
//     param q: in bf16[Query, Depth]
//     param scale: scalar f32
//     param doc: table i32 rank 1
//     function @0 window(q, k, head, batch, query_length, key_length) {
//       %6 = sub %k, %q : i32
//       ...
//       yield %9
//     }
//     %0 = load q : bf16[Query, Depth]
//     %1 = constant -1e+30 : f32[Query]
//     %row_max.1, %acc.1 = over Key mask @0 (%row_max = %1, %acc = %2) {
//       ^(%t: tile Key)
//       %4 = load k(%t) : bf16[Key, Depth]
//       %5 = dot Depth %0, %4 : f32[Query, Key]
//       yield %8, %9
//     }
//     store o(), %7
//   }
//
// Values print as %<name> when they have one, with a number appended where names repeat, else as %<number> in order of
// appearance: the text does not depend on how the kernel was built. parse(print(k)) prints the same text again.
// Locations are printed as `// file:line` comments only when asked for.
#pragma once

#include <string>

#include <tessera/dsl/ir/ir.h>

namespace tessera::ir {

struct PrintOptions {
  bool locations = false;
};

std::string print(const Kernel& kernel, PrintOptions options = {});
std::string print(const Function& function);

// Reads what print writes. Throws UserError with the text's line and column, what was expected, and what was found.
Kernel parse(std::string_view text, const char* file = "<text>");

}  // namespace tessera::ir
