// SPDX-License-Identifier: Apache-2.0
// The numbers that 16 bits stand for (MOTLEY_FP16 and MOTLEY_BF16 of devices/kernels.h), for
// kernels and the host. C++17: CUDA's sources include it.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define MOTLEY_HALF_CODE __host__ __device__
#else
#define MOTLEY_HALF_CODE
#endif

namespace motley {

inline MOTLEY_HALF_CODE float FloatOfBits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// Bits 13 places up have the right fraction, and an exponent that is too small by 127 - 15. The
// product puts that right, also of numbers that are not normal.
inline MOTLEY_HALF_CODE float FloatOfFp16(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t magnitude = (half & 0x7fffu) << 13;
  if ((half & 0x7c00u) == 0x7c00u) return FloatOfBits(sign | 0x7f800000u | magnitude);
  return FloatOfBits(sign | magnitude) * 0x1p112f;
}

inline MOTLEY_HALF_CODE float FloatOfBf16(uint16_t half) {
  return FloatOfBits(static_cast<uint32_t>(half) << 16);
}

}  // namespace motley
