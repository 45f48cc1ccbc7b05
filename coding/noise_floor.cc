// SPDX-License-Identifier: Apache-2.0
#include "coding/noise_floor.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/assert.h"

namespace motley {

double RoundingOfPairs(double amplification, size_t answers) {
  return 0x1.0p-19 * amplification * std::sqrt(static_cast<double>(answers));
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
