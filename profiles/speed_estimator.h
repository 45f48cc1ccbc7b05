// SPDX-License-Identifier: Apache-2.0
// The current speed of one worker, estimated from the times of its work. Pure; measurements come in
// time order.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace motley {

// An exponentially weighted mean of seconds per sample. After a few measurements in a row that are
// far from the mean on the same side, the estimate restarts from them; so a worker that becomes
// five times slower is recognised within about four answers. Shorter runs count as accidents and
// are ignored, unless more than a third of all measurements are far off: the speed of a worker that
// is slow in every other step is the mean of all, and the difference counts as its noise.
class SpeedEstimator {
 public:
  // The first guess comes from calibration; 0: none.
  explicit SpeedEstimator(double samples_per_second = 0);

  // Adds a piece of `samples` > 0 that took `compute` > 0; other values are ignored.
  void Add(uint64_t samples, Duration compute);

  double samples_per_second() const;  // 0 until a speed is known.
  // Relative standard deviation of one measurement, outliers excluded; at first a guess.
  double noise() const;
  uint64_t measurements() const { return measurements_; }
  uint64_t restarts() const { return restarts_; }  // Restarts of the estimate.
  // True if the speed was measured and the last measurement agreed with it.
  bool settled() const { return measurements_ > 0 && drifting_ == 0; }

 private:
  static constexpr double kGuessedNoise = 0.15;

  void StartAfresh(double mean);

  double mean_ = 0;  // Seconds per sample.
  double recent_ = 0;
  double all_ = 0;                                   // Mean, outliers included.
  double all_square_ = 0;                            // Mean of the squares, outliers included.
  double variance_ = kGuessedNoise * kGuessedNoise;  // Relative.
  int drifting_ = 0;  // Outliers in a row on one side; the sign is the side.
  int restless_ = 0;  // Grows while more than a third are outliers, on either side.
  uint64_t measurements_ = 0;
  uint64_t restarts_ = 0;
};

}  // namespace motley
