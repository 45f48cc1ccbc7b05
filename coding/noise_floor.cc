// SPDX-License-Identifier: Apache-2.0
#include "coding/noise_floor.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace motley {
namespace {

constexpr float kNoise = 0x1.0p-19F;
constexpr size_t kPairs = 512;  // Worked on at a time: the bounds stay in the first-level cache.

}  // namespace

void ZeroBelowNoise(std::span<const Complex> weights, std::span<const float* const> terms,
                    std::span<float> out) {
  std::array<float, kPairs> bound;
  for (size_t begin = 0; begin < out.size(); begin += 2 * kPairs) {
    const size_t pairs = std::min(kPairs, (out.size() - begin) / 2);
    bound.fill(0);
    for (size_t r = 0; r < terms.size(); ++r) {
      const float weight = kNoise * static_cast<float>(std::abs(weights[r]));
      const float* term = terms[r] + begin;
      for (size_t t = 0; t < pairs; ++t) {
        bound[t] += weight * std::max(std::abs(term[2 * t]), std::abs(term[2 * t + 1]));
      }
    }
    float* values = out.data() + begin;
    for (size_t t = 0; t < 2 * pairs; ++t) {
      if (std::abs(values[t]) < bound[t / 2]) values[t] = 0;
    }
  }
}

}  // namespace motley
