// What a tensor must look like for kernels to read it in place. The rules are the GPU's (16-byte units, the last dim
// packed) and hold for host memory too: a call that works on the CPU works on the GPU.
#pragma once

#include <string>

#include <tessera/dsl/ir/arguments.h>

namespace tessera::library {

// Throws UserError unless the view is set, and dtype and rank are as wanted. `dims` names them: "batch, heads, length,
// dim".
void check_view(const std::string& name, const View& view, DType dtype, std::size_t rank, const char* dims,
                SourceLoc loc);

// Rows that are read in 16-byte units: address and strides are multiples of it, the last dim has stride 1.
void check_alignment(const std::string& name, const View& view, SourceLoc loc);

// That the view has memory, and that it starts at a multiple of `unit` bytes. A view without elements may be anywhere.
void check_address(const std::string& name, const View& view, std::int64_t unit, SourceLoc loc);

// Whether kernels could use the view's address: what the checks say about addresses, as an answer. `units`: it is read
// in units of 16 bytes, else an element at a time.
bool is_addressable(const View& view, bool units);

// Elements of an output must be different places: no stride 0 and no overlap between dims.
void check_output(const std::string& name, const View& view, SourceLoc loc);

// Whether some byte lies between the first and the last element of both, in one memory.
bool overlap(const View& a, const View& b);

std::string shape_text(const View& view);  // "[2, 8, 512, 64]"

}  // namespace tessera::library
