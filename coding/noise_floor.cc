// SPDX-License-Identifier: Apache-2.0
#include "coding/noise_floor.h"

#include <cmath>

namespace motley {

void AddPairEnergy(std::span<const float> values, std::span<float> energy) {
  for (size_t t = 0; t < energy.size(); ++t) {
    energy[t] += values[2 * t] * values[2 * t] + values[2 * t + 1] * values[2 * t + 1];
  }
}

double RoundingOfPairs(double amplification, size_t answers) {
  return 0x1.0p-19 * amplification * std::sqrt(static_cast<double>(answers));
}

void ZeroBelow(double noise, std::span<const float> energy, std::span<float> values) {
  const auto squared = static_cast<float>(noise * noise);
  for (size_t t = 0; t < values.size(); ++t) {
    if (values[t] * values[t] < squared * energy[t / 2]) values[t] = 0;
  }
}

}  // namespace motley
