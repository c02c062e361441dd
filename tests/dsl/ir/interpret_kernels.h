// Kernels that the interpreter's tests run, written by hand with the builder.
#pragma once

#include <tessera/dsl/ir/builder.h>

namespace tessera::ir::test {

// Which keys a query attends to. Both lengths are arguments, so that alignment can be bottom-right.
using Predicate = std::function<Value(Builder&, std::span<const Value> positions)>;

// Appends a scalar function of positions to `kernel`; returns its index.
int add_mask(Kernel& kernel, const Predicate& predicate);

struct AttentionOptions {
  DType dtype = DType::f32;
  Predicate mask{};      // none: all keys
  bool bounded = false;  // parameter 6 is the number of keys, a scalar
};
// Parameters: q, k, v, o, lse, scale.
Kernel traced_attention(const AttentionOptions& options);

// One thing wrong with an otherwise right pipeline.
enum class Fault {
  none,
  no_wait_for_full,   // consumers read K without waiting for its copy
  no_wait_for_empty,  // the producer refills K without waiting until it was read
  no_arrive,          // consumers never say that they have read K
  arrive_too_early,   // before the product that reads K was waited for
  wrong_ticket,       // consumers read the slot's next use
  no_mma_wait,        // scores are used while the product is in flight
  no_fence,           // the second product reads registers that no fence published
  short_expect,       // the producer announces fewer bytes than the copies bring
  long_expect,        // ... more
  refill_early,       // the producer waits for the use before the one it overwrites
};

// Parameters: q, k, v, o, lse, scale. bf16, 64 columns, 128 queries a program: one producer and two consumers of 64
// rows, key tiles of 64 through rings of two stages.
Kernel placed_attention(Fault fault);

}  // namespace tessera::ir::test
