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
// Placed kernels list roles and layouts at the top; types refer to layouts by number:
//
//   kernel forward placed grid(Query:128, Head:1, Batch:1) threads 384 {
//     role @0 producer x1 registers 24
//     layout #0 {reg 2*Key:1 2*Query:8 16*Key:8 | lane 4*Key:2 8*Query:1 | warp 4*Query:16}
//     %ks = alloc : shared<bf16[Key:128, Depth:64] x2>        a ring of two tiles
//     %k_full = alloc : barrier<1 x2>                         a ring of two mbarriers of one arrival
//     role @0 {
//       expect 16384 %k_full, %n
//       %8 = slot %ks, %n : view<bf16[Key:128, Depth:64]>
//       copy k(%8 ; %k_full, %n ; %start, %c0 ; bound Key %length)
//       wait 1 %k_empty, %n                                   index 1; 0 is not written
//     }
//     %9 = mma Depth %q, %8 : f32[Query:64, Key:128] #0
//     %10 = mma_wait 0 %9
//   }
//
// One op a line: results, name, axis or index, operands, type of the result. Ops with regions and mma_wait pass types
// through and write none. `loop %lo to %hi (%n = %c0) {` has its index on the next line, `^(%i)`; `when %c (...) {` has
// none.
//
// Values print as %<name> when they have one, with a number appended where names repeat, constants as %c128, %c-1 and
// %true, others as %<number> in order of appearance: the text does not depend on how the kernel was built.
// parse(print(k)) prints the same text again. Locations are printed as `// file:line` comments only when asked for.
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
// `file` is what locations and errors name; it must outlive them. Ops get the lines of the text as their locations.
Kernel parse(std::string_view text, const char* file = "<text>");
Function parse_function(std::string_view text, const char* file = "<text>");

}  // namespace tessera::ir
