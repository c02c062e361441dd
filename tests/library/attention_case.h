// One attention problem, made twice: as tensors for the library, and as plain C++ for the reference.
#pragma once

#include <functional>
#include <string>

#include <tessera/library/attention.h>

#include "support/reference.h"

namespace tessera::test {

struct Case {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 64, keys = 64;
  int depth = 64, value_depth = 0;  // 0: depth
  DType dtype = DType::bf16;
  Mask mask = full;
  std::function<bool(const Pair&)> allowed = [](const Pair&) { return true; };
  Scores scores = {};
  std::function<double(const Pair&, double)> score = [](const Pair&, double s) { return s; };
  std::optional<double> scale = {};
  std::vector<std::int64_t> key_lengths = {};
  double input_scale = 1;
  TensorOptions layout = {};  // of q, k, v, o
  int query_tile = 64, key_tile = 64;
  std::vector<mask::NamedScalar> params = {};
  std::shared_ptr<const library::PlanMaker> plan_maker = {};
  bool chained = false;  // its plan has two passes
};

// The tensors of a case: inputs filled, outputs poisoned, guards around all.
struct Tensors {
  explicit Tensors(const Case& c, std::uint64_t seed = 1);

  TestTensor q, k, v, o, lse, key_lengths;
  AttentionCall call(const Case& c) const;
  Problem problem(const Case& c) const;
};

AttentionOptions options_of(const Case& c);

// Runs the case on the CPU and checks it: O and LSE against fp64, guards intact, inputs unchanged.
void check_case(const Case& c, const std::string& name);

// Runs `attend` on the tensors: on the CPU, or elsewhere.
using Runner = void (*)(Attention& attend, Tensors& tensors, const Case& c);
void run_on_cpu(Attention& attend, Tensors& tensors, const Case& c);

// COUNT probe: with Q = 0, V[k][0] = 1 and V[k][1] = (k mod 64) / 64 every live key has the same weight, so LSE is the
// log of their number, O[0] is 1 (0 for none) and O[1] their mean.
void check_counts(Case c, const std::string& name, Runner run = run_on_cpu);

// Identity probe: with Q = 0 and V[k][j] = 1 where k is the j-th key, O shows which keys a query sees: not 0 where it
// does. In columns of V as wide as they go, one call each.
void check_identity(Case c, const std::string& name, Runner run = run_on_cpu);

}  // namespace tessera::test
