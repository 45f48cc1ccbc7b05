// SPDX-License-Identifier: Apache-2.0
#include "profiles/cost_model.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace motley {

CostCurve CurveOf(const DeviceProfile& device) {
  MOTLEY_ASSERT(device.samples_per_second > 0);
  CostCurve curve;
  curve.overhead_seconds = device.overhead_seconds;
  curve.seconds_per_sample = 1 / device.samples_per_second;
  curve.knee_samples = device.knee_samples;
  if (device.max_samples > 0) curve.most_samples = static_cast<double>(device.max_samples);
  return curve;
}

double SecondsFor(const CostCurve& curve, double samples) {
  if (!(samples > 0)) return 0;
  if (samples > curve.most_samples) return std::numeric_limits<double>::infinity();
  return curve.overhead_seconds + curve.seconds_per_sample * std::max(samples, curve.knee_samples);
}

double SamplesWithin(const CostCurve& curve, double seconds) {
  const double samples = (seconds - curve.overhead_seconds) / curve.seconds_per_sample;
  if (!(samples > 0) || samples < curve.knee_samples) return 0;
  // Work below a knee costs as much as the knee, even if the knee does not fit into memory.
  return std::min(samples, curve.most_samples);
}

double MeanFactor(const DeviceProfile& device) {
  return 1 + device.tail_probability * std::max(0.0, device.tail_factor - 1);
}

double SamplesThatFit(uint64_t memory_bytes, const MemoryNeed& need) {
  if (memory_bytes == 0) return std::numeric_limits<double>::infinity();
  if (memory_bytes < need.fixed_bytes) return 0;
  if (need.bytes_per_sample == 0) return std::numeric_limits<double>::infinity();
  return std::floor(static_cast<double>(memory_bytes - need.fixed_bytes) /
                    static_cast<double>(need.bytes_per_sample));
}

}  // namespace motley
