// SPDX-License-Identifier: Apache-2.0
// Random signs, +1 or -1, that are the same on every device. Sign i of a seed depends on nothing
// else, so any range can be computed alone. Signs come in blocks of 32 rows by 16 columns. A block
// is 16 words, one per column; the topmost bit of a word is the sign in the first row. So one hash
// gives 32 signs, and vector instructions can load, shift and apply them. The signs repeat after
// 2^37.
//
// kernels/losses.cl (OpenCL) and coding/kernels/sketch_block-inl.h have copies of SignWord, and
// tests compare them with this one. CUDA sources include this file, so it is C++17. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define MOTLEY_SIGN_CODE __host__ __device__
#else
#define MOTLEY_SIGN_CODE
#endif

namespace motley {

inline constexpr uint32_t kSignLanes = 16;
inline constexpr uint32_t kSignRows = 32;
inline constexpr uint32_t kSignBlock = kSignLanes * kSignRows;
inline constexpr uint32_t kSignBit = 1u << 31;  // The sign bit of a float is the same one.

struct SignKey {
  uint32_t first = 0;
  uint32_t second = 0;
};

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which makes neighbouring seeds unrelated.
inline MOTLEY_SIGN_CODE uint64_t MixedSeed(uint64_t seed) {
  seed += 0x9e3779b97f4a7c15u;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
  return seed ^ (seed >> 31);
}

inline MOTLEY_SIGN_CODE SignKey SignKeyOf(uint64_t seed) {
  const uint64_t mixed = MixedSeed(seed);
  return {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
}

// Two rounds of a low-bias 32-bit finalizer, each after mixing in one half of the seed.
inline MOTLEY_SIGN_CODE uint32_t SignWord(SignKey key, uint32_t number) {
  uint32_t word = number ^ key.first;
  word = (word ^ (word >> 16)) * 0x21f0aaadu;
  word = (word ^ (word >> 15)) * 0x735a2d97u;
  word = (word ^ (word >> 15)) + key.second;
  word = (word ^ (word >> 16)) * 0x21f0aaadu;
  word = (word ^ (word >> 15)) * 0x735a2d97u;
  return word ^ (word >> 15);
}

// kSignBit if sign i is -1, else 0.
inline MOTLEY_SIGN_CODE uint32_t SignOf(SignKey key, uint64_t i) {
  const auto number = static_cast<uint32_t>(i / kSignBlock * kSignLanes + i % kSignLanes);
  return (SignWord(key, number) << (i / kSignLanes % kSignRows)) & kSignBit;
}

}  // namespace motley
