// SPDX-License-Identifier: Apache-2.0
// The values of 16-bit floats (MOTLEY_FP16 and MOTLEY_BF16 in devices/kernels.h), for kernels and
// the host. CUDA sources include this file, so it is C++17.
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

// Shifted by 13 bits, the fraction is right and the exponent is too small by 127 - 15. The product
// corrects that, also for subnormal numbers.
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
