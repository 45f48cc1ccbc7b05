// SPDX-License-Identifier: Apache-2.0
// The time that a device needs for a number of samples, and the samples it can do in a given time.
// Pure.
//
//   t(x) = overhead + seconds_per_sample * max(x, knee),  0 < x <= most samples;  t(0) = 0
//
// Up to the knee the device is not full, and more samples cost no more time. One bisection over
// these curves covers LB-BSP's shares on GPUs (Chen et al., SoCC 2020), the equal finish of
// Cannikin (Nie et al., 2024) and the caps of Poplar (AAAI 2025).
#pragma once

#include <cstdint>
#include <limits>

#include "profiles/profile.h"

namespace motley {

// The numbers of a DeviceProfile that planning needs.
struct CostCurve {
  double overhead_seconds = 0;
  double seconds_per_sample = 1;  // > 0.
  double knee_samples = 0;
  double most_samples = std::numeric_limits<double>::infinity();  // In one piece of work.
};
CostCurve CurveOf(const DeviceProfile& device);  // samples_per_second > 0.

// Infinite for more than the most samples; 0 for none.
double SecondsFor(const CostCurve& curve, double samples);
// The most samples that take at most `seconds`; 0 when that is less than the knee's time.
double SamplesWithin(const CostCurve& curve, double seconds);

inline double SecondsFor(const DeviceProfile& device, double samples) {
  return SecondsFor(CurveOf(device), samples);
}
inline double SamplesWithin(const DeviceProfile& device, double seconds) {
  return SamplesWithin(CurveOf(device), seconds);
}

// Mean time over typical time. It is above 1 if there are rare slow pieces (tail_probability,
// tail_factor).
double MeanFactor(const DeviceProfile& device);

// The memory that a model needs on a device.
struct MemoryNeed {
  uint64_t fixed_bytes = 0;       // Parameters, gradients, workspace.
  uint64_t bytes_per_sample = 0;  // Samples and activations.
};
// The number of samples that fit beside the fixed bytes, rounded down. 0 when not even these fit;
// infinite when the device's memory is not known or a sample needs none.
double SamplesThatFit(uint64_t memory_bytes, const MemoryNeed& need);

}  // namespace motley
