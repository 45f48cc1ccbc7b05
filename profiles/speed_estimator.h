// SPDX-License-Identifier: Apache-2.0
// Current speed of one worker from what its work took. Pure; feed it in time order.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace motley {

// Exponentially weighted mean of seconds per sample; a change that persists over a few measurements
// (same side, far from the mean) makes it start afresh, so that a worker that became five times
// slower is known within about four answers. Fewer in a row are accidents and count for nothing,
// unless more than a third of all are: a worker that is slow in every other step has the mean of
// all as its speed, and the difference as its noise.
class SpeedEstimator {
 public:
  // A first guess (from calibration); 0: none.
  explicit SpeedEstimator(double samples_per_second = 0);

  // `samples` > 0 took `compute` > 0; others are ignored.
  void Add(uint64_t samples, Duration compute);

  double samples_per_second() const;  // 0 while nothing is known.
  // Relative standard deviation of one measurement that is not far off; at first a guess.
  double noise() const;
  uint64_t measurements() const { return measurements_; }
  uint64_t restarts() const { return restarts_; }  // Changes that persisted, or were no accidents.
  // The speed was measured, and the last measurement agreed with it.
  bool settled() const { return measurements_ > 0 && drifting_ == 0; }

 private:
  static constexpr double kGuessedNoise = 0.15;

  void StartAfresh(double mean);

  double mean_ = 0;  // Seconds per sample.
  double recent_ = 0;
  double all_ = 0;                                   // Mean with the far ones,
  double all_square_ = 0;                            // and that of the squares.
  double variance_ = kGuessedNoise * kGuessedNoise;  // Relative.
  int drifting_ = 0;  // Measurements in a row far off on one side; the sign is the side.
  int restless_ = 0;  // Grows where more than a third are far off, whichever side.
  uint64_t measurements_ = 0;
  uint64_t restarts_ = 0;
};

}  // namespace motley
