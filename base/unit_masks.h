// SPDX-License-Identifier: Apache-2.0
// The random words that decide which units of a layer are kept for which sample, the same on every
// device. They come from the counter-based generator Philox 4x32-10 (Salmon et al., SC 2011),
// called with a key, a sample and a unit. The kernels for CPUs and CUDA use this function;
// kernels/pointwise.cl (OpenCL) has a copy. Tests compare both with Random123. CUDA sources include
// this file, so it is C++17. Pure.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define MOTLEY_MASK_CODE __host__ __device__
#else
#define MOTLEY_MASK_CODE
#endif

namespace motley {

inline constexpr uint32_t kMaskUnits = 4;  // Units served by one call.

struct MaskWords {
  uint32_t word[kMaskUnits];
};

// The words of units [kMaskUnits * block, kMaskUnits * (block + 1)).
inline MOTLEY_MASK_CODE MaskWords MaskWordsOf(uint64_t key, uint32_t sample, uint32_t block) {
  uint32_t counter[4] = {sample, block, 0, 0};
  uint32_t first = static_cast<uint32_t>(key), second = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t left = uint64_t{0xd2511f53u} * counter[0];
    const uint64_t right = uint64_t{0xcd9e8d57u} * counter[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(right >> 32) ^ counter[1] ^ first, static_cast<uint32_t>(right),
        static_cast<uint32_t>(left >> 32) ^ counter[3] ^ second, static_cast<uint32_t>(left)};
    for (int i = 0; i < 4; ++i) counter[i] = next[i];
    first += 0x9e3779b9u;
    second += 0xbb67ae85u;
  }
  return {{counter[0], counter[1], counter[2], counter[3]}};
}

}  // namespace motley
