// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set by foreach_target; the best one is chosen at run time.
#include "coding/noise_floor.h"

#include <cmath>

#include "base/assert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/noise_floor.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace motley {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void ZeroPairsBelow(float squared, const float* energy, float* values, size_t pairs) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, squared);
  size_t t = 0;
  for (; t + lanes <= pairs; t += lanes) {
    auto even = hn::Undefined(d);
    auto odd = hn::Undefined(d);
    hn::LoadInterleaved2(d, values + 2 * t, even, odd);
    const auto least = hn::Mul(factor, hn::LoadU(d, energy + t));
    even = hn::IfThenZeroElse(hn::Lt(hn::Mul(even, even), least), even);
    odd = hn::IfThenZeroElse(hn::Lt(hn::Mul(odd, odd), least), odd);
    hn::StoreInterleaved2(even, odd, d, values + 2 * t);
  }
  for (t *= 2; t < 2 * pairs; ++t) {
    if (values[t] * values[t] < squared * energy[t / 2]) values[t] = 0;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace motley
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace motley {

HWY_EXPORT(ZeroPairsBelow);

double RoundingOfPairs(double amplification, size_t answers) {
  return 0x1.0p-19 * amplification * std::sqrt(static_cast<double>(answers));
}

void ZeroBelow(double noise, std::span<const float> energy, std::span<float> values) {
  MOTLEY_ASSERT(values.size() == 2 * energy.size());
  HWY_DYNAMIC_DISPATCH(ZeroPairsBelow)
  (static_cast<float>(noise * noise), energy.data(), values.data(), energy.size());
}

}  // namespace motley
#endif  // HWY_ONCE
