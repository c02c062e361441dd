// f16 and bf16 on the host. Branch-free where a loop over elements should vectorise.
//
// `round_*` gives the nearest representable value as a float (ties to even), which is how tiles hold 16-bit elements;
// `encode_*` gives its bits, `decode_*` is exact. NaNs stay NaN, overflow goes to infinity, subnormals are kept.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include <tessera/dsl/ir/types.h>

namespace tessera::ir::interp {

inline float round_bf16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const std::uint32_t quiet = bits | 0x400000;  // a NaN whose payload is all in the low half must not become infinity
  return std::bit_cast<float>((x != x ? quiet : rounded) & 0xffff0000u);
}

inline std::uint16_t encode_bf16(float x) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(round_bf16(x)) >> 16);
}

inline float decode_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

inline float round_f16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits & 0x80000000u, magnitude = bits & 0x7fffffffu;
  std::uint32_t normal = (magnitude + 0xfff + ((magnitude >> 13) & 1)) & ~0x1fffu;
  normal = normal >= 0x47800000u ? 0x7f800000u : normal;  // 65520 and above
  // Below 2^-14 representable values are multiples of 2^-24, the spacing of floats just above one half.
  const std::uint32_t small = std::bit_cast<std::uint32_t>((std::bit_cast<float>(magnitude) + 0.5f) - 0.5f);
  std::uint32_t result = magnitude < 0x38800000u ? small : normal;
  result = magnitude > 0x7f800000u ? (magnitude | 0x400000u) & ~0x1fffu : result;
  return std::bit_cast<float>(result | sign);
}

inline std::uint16_t encode_f16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(round_f16(x));
  const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7c00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x38800000u) return static_cast<std::uint16_t>(sign | ((magnitude >> 13) - (112u << 10)));
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p24f));
}

inline float decode_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7fffu) << 13;
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
  return std::bit_cast<float>(sign | ((bits & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : finite));
}

// `x` as an element of dtype `t` holds it; t is a float type.
inline float round_to(DType t, float x) {
  return t == DType::f16 ? round_f16(x) : t == DType::bf16 ? round_bf16(x) : x;
}

// Toward zero; out of range goes to the nearest end, NaN to 0.
inline std::int32_t truncate(float x) {
  if (!(x == x)) return 0;
  if (x >= 0x1p31f) return INT32_MAX;
  if (x < -0x1p31f) return INT32_MIN;
  return static_cast<std::int32_t>(x);
}

}  // namespace tessera::ir::interp
