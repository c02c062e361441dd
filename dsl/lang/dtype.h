// Names that programs use for element types and numbers, and the two stages an argument struct exists in.
#pragma once

#include <limits>

#include <tessera/dsl/ir/types.h>

namespace tessera {

inline constexpr DType i1 = DType::i1, i32 = DType::i32, f16 = DType::f16, bf16 = DType::bf16, f32 = DType::f32;

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double lowest =
    -1e30;  // where a running maximum starts: finite, so that lowest - lowest is 0 and not NaN
inline constexpr double log2e = 1.4426950408889634;
inline constexpr double ln2 = 0.69314718055994531;

// Args<traced> holds values of the program that is being traced; Args<bound> holds views on memory and plain numbers.
struct traced {};
struct bound {};

namespace detail {
template <class...>
inline constexpr bool never = false;  // dependent, for sentences in code that must not be instantiated

constexpr bool is_float_type(DType t) { return t == f16 || t == bf16 || t == f32; }
}  // namespace detail

}  // namespace tessera
