// Lets a block compute many programs, so that it starts once, and copies for one program run ahead while the one before
// it is finished.
//
//   before  %row = mul (program_id Query), 128        after  programs { ^(%turn)
//           %q = load q(%row, 0)                               %row = mul (program_id Query), 128
//           ...                                                %q = load q(%row, 0)
//           store o(%row, 0), %out                             ...
//                                                              store o(%row, 0), %out
//                                                            }
//
// A launch then has as many blocks as the device has multiprocessors, and they take programs by a counter that belongs
// to the launch: whoever is free takes the next, in the kernel's order of work. Runs before place_memory, which carries
// the tickets of rings from program to program, and so before split_roles, which gives every role the loop. Kernels
// without products keep one program a block: they fill a multiprocessor with several blocks instead.
#pragma once

#include <tessera/dsl/ir/ir.h>

namespace tessera::backend {

ir::Kernel take_programs(const ir::Kernel& kernel);

}  // namespace tessera::backend
