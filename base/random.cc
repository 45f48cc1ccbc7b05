// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

namespace motley {
namespace {

// The finalizer of SplitMix64 (Steele et al. 2014), which spreads small stream numbers over all
// bits.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace

Random::Random(uint64_t seed, Stream stream, uint64_t a, uint64_t b) {
  const uint64_t key = Mix(Mix(Mix(Mix(seed) ^ static_cast<uint64_t>(stream)) ^ a) ^ b);
  key_[0] = static_cast<uint32_t>(key);
  key_[1] = static_cast<uint32_t>(key >> 32);
  for (uint32_t& word : counter_) word = 0;
  counter_[3] = static_cast<uint32_t>(stream);
}

void Random::Refill() {
  const r123::Philox4x32 philox;
  const auto out =
      philox({{counter_[0], counter_[1], counter_[2], counter_[3]}}, {{key_[0], key_[1]}});
  for (int i = 0; i < 4; ++i) block_[i] = out[i];
  if (++counter_[0] == 0) ++counter_[1];
  used_ = 0;
}

uint32_t Random::Next32() {
  if (used_ == 4) Refill();
  return block_[used_++];
}

uint64_t Random::Next64() {
  const uint64_t low = Next32();
  const uint64_t high = Next32();
  return high << 32 | low;
}

double Random::NextDouble() { return static_cast<double>(Next64() >> 11) * 0x1.0p-53; }

uint64_t Random::Below(uint64_t bound) {
  // Rejection keeps every value equally likely (Lemire 2019).
  while (true) {
    const uint64_t draw = Next64();
    const unsigned __int128 product = static_cast<unsigned __int128>(draw) * bound;
    if (static_cast<uint64_t>(product) >= -bound % bound) {
      return static_cast<uint64_t>(product >> 64);
    }
  }
}

double Random::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - NextDouble()));
  const double angle = 2.0 * std::numbers::pi * NextDouble();
  return radius * std::cos(angle);
}

double Random::Exponential(double mean) { return -mean * std::log(1.0 - NextDouble()); }

}  // namespace motley
