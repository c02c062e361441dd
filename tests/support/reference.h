// Dense attention by the definition, in fp64: what every other way of computing it is held against.
//
// Shapes are q (B, H, Nq, D), k (B, Hkv, Nk, D), v (B, Hkv, Nk, Dv). Nothing is shared with the compiler: masks and
// scores are plain C++ functions of the indices.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "support/tensor.h"

namespace tessera::test {

struct Pair {
  std::int64_t batch, head, q, k;
};

struct Problem {
  const TestTensor* q = nullptr;
  const TestTensor* k = nullptr;
  const TestTensor* v = nullptr;
  double scale = 1;
  std::function<bool(const Pair&)> allowed = [](const Pair&) { return true; };
  std::function<double(const Pair&, double)> score = [](const Pair&, double s) { return s; };
  std::vector<std::int64_t> key_lengths = {};  // per batch; empty: all keys
  bool chained = false;                        // O of a first pass is stored, and read by a second one

  std::int64_t key_length(std::int64_t batch) const;
};

struct Result {
  std::vector<double> o;    // (B, H, Nq, Dv)
  std::vector<double> lse;  // (B, H, Nq)
};

Result attention_fp64(const Problem& problem);

// The same computation as an implementation in the storage type does it: products of stored values summed in fp32,
// probabilities rounded to the storage type before the second product, outputs rounded to it. Its distance from fp64
// is the yardstick of tolerances.
Result attention_in_storage_type(const Problem& problem);

// Largest |a - b|; infinities must agree exactly, a NaN on either side is infinitely far.
double max_difference(const std::vector<double>& a, const std::vector<double>& b);

// Twice the error of the storage-type computation, plus 1e-5, for O and for LSE; of a chain also what storing O once
// more may round away.
struct Tolerance {
  double o, lse;
};
Tolerance tolerance(const Problem& problem, const Result& exact);

}  // namespace tessera::test
