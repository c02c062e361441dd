// What an Attention is made from, prepared for and called with: plain structs for designated initialisers.
//
//   Attention attend({.mask = window(1023, 0), .dtype = bf16, .head_dim = 128});
//   attend.prepare({.batch = 2, .heads = 16, .kv_heads = 4, .query_length = 4096, .key_length = 4096});
//   attend({.q = q, .k = k, .v = v, .o = o, .lse = lse, .stream = stream});
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tessera/backend/schedule.h>
#include <tessera/dsl/ir/arguments.h>
#include <tessera/library/patterns.h>
#include <tessera/library/scores.h>

namespace tessera {

namespace library {
struct PlanMaker;
}

struct AttentionOptions {
  Mask mask = full;
  Scores scores = {};                // applied left to right to the scaled scores, before the mask
  DType dtype = DType::bf16;         // of q, k, v and o: f16 or bf16; sums are in f32
  int head_dim = 0;                  // of q and k: a multiple of 8 up to 256
  int value_dim = 0;                 // of v and o; 0: head_dim
  std::optional<double> scale = {};  // of the scores; none: 1 / sqrt(head_dim)
  // Of consecutive tokens. 0: those of a stored tuning, else chosen by cost; both 0, and no warpgroups in the schedule:
  // so is the order of the tokens that tiles are cut in (mask/choose_plan.h).
  int query_tile = 0, key_tile = 0;
  backend::Schedule schedule = {};  // of a stored tuning where tiles are left open too; what is left open is chosen
  std::string target = {};          // "sm_90a"; empty: the device's
  std::shared_ptr<const library::PlanMaker> plan_maker = {};  // in place of the planner (library/plan_maker.h)
};

// Head i of the queries reads head i / (heads / kv_heads) of keys and values.
struct AttentionShapes {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  // 0: heads
  std::int64_t query_length = 0;
  std::int64_t key_length = 0;
  bool lse = false;          // the call will ask for the LSE
  bool key_lengths = false;  // the call will give key lengths a sequence
  friend bool operator==(const AttentionShapes&, const AttentionShapes&) = default;
};

// The contents of a table that the mask or a score reads by this name: Table<f32, 4> bias("bias").
struct NamedTable {
  std::string name;
  View data;  // contiguous
};

// From its first byte to its last an output shares no memory with anything else that the call gives.
struct AttentionCall {
  View q;                                      // [batch, heads, query_length, head_dim]
  View k;                                      // [batch, kv_heads, key_length, head_dim]
  View v;                                      // [batch, kv_heads, key_length, value_dim]
  View o;                                      // [batch, heads, query_length, value_dim], written
  View lse = {};                               // f32 [batch, heads, query_length], written if it is given: natural log
  void* stream = nullptr;                      // a CUstream or cudaStream_t; null: the legacy default stream
  std::vector<mask::NamedScalar> params = {};  // values of Param scalars: {{"left", 512}}
  std::vector<NamedTable> tables = {};
  View key_lengths = {};  // i32 [batch]: keys from key_lengths[b] on do not exist, whatever memory holds there;
                          // key_length of a mask stays the number of keys that k has
};

}  // namespace tessera
