// SPDX-License-Identifier: Apache-2.0
// Random signs, +1 or -1, that are the same on every device: sign i of a seed depends on nothing
// else, so that any part of them can be had alone. They come in blocks of 32 rows of 16; a block is
// 16 words, one for each column, whose topmost bit is the first row's: so one hash gives 32 signs,
// and a vector of any processor loads, shifts and applies them. After 2^37 signs they repeat.
// kernels/losses.cl (OpenCL) and coding/kernels/sketch_block-inl.h have twins of SignWord, which
// tests hold to this one. C++17: CUDA's sources include it. Pure.
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
inline constexpr uint32_t kSignBit = 1u << 31;  // Of a float, too.

struct SignKey {
  uint32_t first = 0;
  uint32_t second = 0;
};

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), so that seeds next to each other have nothing in
// common.
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

// Two rounds of a 32-bit finalizer of low bias, a half of the seed before each.
inline MOTLEY_SIGN_CODE uint32_t SignWord(SignKey key, uint32_t number) {
  uint32_t word = number ^ key.first;
  word = (word ^ (word >> 16)) * 0x21f0aaadu;
  word = (word ^ (word >> 15)) * 0x735a2d97u;
  word = (word ^ (word >> 15)) + key.second;
  word = (word ^ (word >> 16)) * 0x21f0aaadu;
  word = (word ^ (word >> 15)) * 0x735a2d97u;
  return word ^ (word >> 15);
}

// kSignBit where sign i is -1, else 0.
inline MOTLEY_SIGN_CODE uint32_t SignOf(SignKey key, uint64_t i) {
  const auto number = static_cast<uint32_t>(i / kSignBlock * kSignLanes + i % kSignLanes);
  return (SignWord(key, number) << (i / kSignLanes % kSignRows)) & kSignBit;
}

}  // namespace motley
