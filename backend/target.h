// What an architecture can do, one row each. No other file asks for an architecture by number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::backend {

struct Target {
  std::string name;                     // "sm_90a": LLVM's -mcpu, ptxas's -arch
  int capability = 0;                   // 90: compute capability * 10 of the devices that run it
  std::string ptx_features;             // LLVM's -mattr: "+ptx86"
  int shared_bytes = 0;                 // one block's limit, opted in
  int registers = 65536;                // of a multiprocessor, 32 bits each
  bool has_tensor_copies = false;       // TMA and mbarriers
  bool has_warpgroup_products = false;  // wgmma
  bool supported = false;               // code can be generated; the others are rows that say what is missing
};

const std::vector<Target>& targets();
// UserError that lists the supported names.
const Target& target_named(std::string_view name);
// The row for a device of this compute capability; UserError when there is none or it is not supported yet.
const Target& target_for(int capability);

}  // namespace tessera::backend
