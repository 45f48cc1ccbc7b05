// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/noise_floor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"

namespace motley {

double RoundingOfPairs(double amplification, size_t answers, double norm) {
  return 0x1.0p-19 * std::min(amplification * std::sqrt(static_cast<double>(answers)), norm);
}

double LargestNorm(std::span<const Complex> a, uint32_t parts) {
  MOTLEY_ASSERT(parts > 0);
  double largest = 0;
  for (uint32_t u = 0; u < parts; ++u) {
    double squares = 0;
    for (size_t i = u; i < a.size(); i += parts) squares += std::norm(a[i]);
    largest = std::max(largest, squares);
  }
  return std::sqrt(largest);
}

void reference::ZeroBelow(double noise, std::span<const float> energy, std::span<float> values) {
  MOTLEY_ASSERT(values.size() == 2 * energy.size());
  const auto squared = static_cast<float>(noise * noise);
  for (size_t t = 0; t < values.size(); ++t) {
    const float finite = std::min(energy[t / 2], std::numeric_limits<float>::max());
    if (values[t] * values[t] < squared * finite) values[t] = 0;
  }
}

}  // namespace motley
