// Leaves the sum over lanes to the end of a loop that adds up row sums.
//
//   before  loop ... (%sum = 0) {                        after  loop ... (%sum = 0) {       // f32[Query:64, Key:8]
//             %1 = mul %sum, %r                                   %1 = mul %sum, %r
//             %2 = reduce_sum Key %p : f32[Query:64]              %2 = partial_sum Key %p : f32[Query:64, Key:8]
//             %3 = add %1, %2                                     %3 = add %1, %2
//             yield %3                                            yield %3
//           }                                                   }
//                                                               %4 = reduce_sum Key %sum : f32[Query:64]
//
// A reduction's last steps cross lanes and wait for each other. Nobody reads a running sum within its loop, so each
// column of the accumulator's 8 can be summed by its own lane for as long as the loop runs. A sum that comes from
// outside enters as eight eighths, exact but for subnormal numbers; one that a loop before has split enters as it is.
// Runs after assign_layouts.
#pragma once

#include <tessera/backend/layouts.h>

namespace tessera::backend {

ir::Kernel split_sums(const ir::Kernel& kernel, const LayoutRule& rule);

}  // namespace tessera::backend
