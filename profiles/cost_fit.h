// SPDX-License-Identifier: Apache-2.0
// Fits a device's time curve to measured pieces of work of several sizes. Pure.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "profiles/profile.h"

namespace motley {

// The times of all measured pieces with this many samples.
struct SizeMeasurement {
  double samples = 0;
  std::vector<double> seconds;
};

struct CostFit {
  double overhead_seconds = 0;
  double samples_per_second = 0;
  double knee_samples = 0;  // 0: none.
  double jitter = 0;  // Relative standard deviation about the median of a size, estimated robustly.
  double tail_probability = 0;
  double tail_factor = 1;
  double worst_error = 0;  // The largest relative error of the curve at a size's median.

  // Sets the fields of the same names.
  void ApplyTo(DeviceProfile& device) const;
};

// Fits by least squares on the relative errors of the medians, with overhead >= 0. Every knee at
// and between the sizes is tried; a knee is kept only if it removes most of the error that remains
// without one. A piece counts towards the tail if it takes more than twice its size's median and
// noise does not explain that.
//
// kInvalidArgument: fewer than two sizes, sizes or times that are not above 0, or times that do not
// grow with the size.
Result<CostFit> FitCost(std::span<const SizeMeasurement> sizes);

}  // namespace motley
