// The text form of a kernel: what goldens compare, what `tessera inspect` shows, what the parser reads back.
//
//   kernel forward traced grid(Query, Head, Batch) {
//     param q: in bf16[Query, Depth]
//     param scale: scalar f32
//     param doc: table i32 rank 1
//     function @0 window(q, k, head, batch, query_length, key_length) {
//       %0 = sub %k, %q : i32
//       ...
//       yield %3
//     }
//     %0 = load q : bf16[Query, Depth]
//     %1 = constant -1e+30 : f32[Query]
//     %row_max.1, %acc.1 = over Key mask @0 (%row_max = %1, %acc = %2) {
//       ^(%t: tile Key)
//       %4 = load k(%t) : bf16[Key, Depth]
//       %5 = dot Depth %0, %4 : f32[Query, Key]
//       %6 = allowed @0 %t : i1[Query, Key]
//       %7 = select %6, %5, -inf : f32[Query, Key]
//       ...
//       yield %8, %9
//     }
//     store o(), %10
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
//       copy k(%8 ; %k_full, %n ; %start, 0 ; bound Key %length)
//       wait 1 %k_empty, %n                                   index 1; 0 is not written
//     }
//     %9 = mma Depth %q, %8 : f32[Query:64, Key:128] #0
//     %10 = mma_wait 0 %9
//   }
//
// One op a line: results, name, axis or index, operands, type of the result. Ops with regions and mma_wait pass types
// through and write none. `loop 0 to %hi (%n = 0) {` has its index on the next line, `^(%i)`; `when %c (...) {` has
// none.
//
// Values print as %<name> when they have one, with a number appended where names repeat, others as %<number> in order
// of appearance: the text does not depend on how the kernel was built.
//
// Scalar constants have no lines: they are numbers where they are used, `mul %1, 128`, and the parser makes one
// constant op of equal numbers in a block and those inside it. (It takes lines as well, `%0 = constant 128 : i32`.) A
// number that operates elementwise or is broadcast has the dtype of the result, the right side of a comparison that of
// the left; elsewhere a number is i32. Where it has another dtype, that is written with it: `yield 1:f32`. i1 is `true`
// and `false` everywhere.
//
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
