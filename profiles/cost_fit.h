// SPDX-License-Identifier: Apache-2.0
// A device's time curve from measured pieces of several sizes. Pure.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "profiles/profile.h"

namespace motley {

// What pieces of so many samples took, each time.
struct SizeMeasurement {
  double samples = 0;
  std::vector<double> seconds;
};

struct CostFit {
  double overhead_seconds = 0;
  double samples_per_second = 0;
  double knee_samples = 0;  // 0: none.
  double jitter = 0;        // Standard deviation about the median of a size, relative, robust.
  double tail_probability = 0;
  double tail_factor = 1;
  double worst_error = 0;  // Of a size's median against the curve, relative.

  // Sets the fields of the same names.
  void ApplyTo(DeviceProfile& device) const;
};

// Least squares of relative errors of the medians, overhead >= 0, for every knee between and at the
// sizes; a knee only where it takes away most of the error that is left without one. Pieces that
// take more than twice their size's median, and that noise does not explain, are the tail.
// kInvalidArgument: fewer than two sizes, sizes or times that are not above 0, or times that do not
// grow with the size at all.
Result<CostFit> FitCost(std::span<const SizeMeasurement> sizes);

}  // namespace motley
