// SPDX-License-Identifier: Apache-2.0
// Keeps a device's profile up to date from what its work takes, and notices when it changed. Pure;
// feed it in time order.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "profiles/profile.h"

namespace motley {

enum class Drift { kNone, kSlower, kFaster };

// Least squares for overhead and time per sample on relative errors, with exponential forgetting of
// the measurements but not of the prior: what they cannot tell apart (all pieces of one size) stays
// as the prior had it, and nothing ever becomes singular. Errors beyond three standard deviations
// count as that much (Huber 1964); the standard deviation is learned from mean absolute errors.
//
// A change is noticed by Page's two-sided cumulative sum (Biometrika 1954) of standardised errors
// with allowance 0.5 and threshold 12. At constant speed and normal errors that is a false alarm
// every 500,000 measurements or more (Siegmund's approximation; seen: 2 in 10 million); at 10 %
// noise a change by 25 % is noticed after 8 measurements on average, 17 at most of 2000 runs, and
// one by 10 % seldom: the estimate follows it instead. It then starts afresh from the measurements
// since the change began.
class DeviceEstimator {
 public:
  // `prior` as measured or guessed; samples_per_second > 0. Its knee, memory and identity stay.
  explicit DeviceEstimator(const DeviceProfile& prior);

  // `samples` > 0 took `compute` > 0; others are ignored. Tells at which measurement a change is
  // certain.
  Drift Add(double samples, Duration compute);

  // The prior with what was learned: overhead, speed, jitter and tail.
  DeviceProfile profile() const;
  double SecondsFor(double samples) const;
  uint64_t measurements() const { return measurements_; }
  uint64_t drifts() const { return drifts_; }

 private:
  using Pair = std::array<double, 2>;  // For overhead and time per sample, both relative to scale_.
  // Sums over measurements of the normal equations' left (a 2 x 2 matrix) and right sides.
  struct Sums {
    double left[3] = {0, 0, 0};  // 00, 01, 11.
    Pair right = {0, 0};
    double total = 0, count = 0;  // How far off the prediction was: their ratio.

    void Add(const Pair& row, double value, double weight);
    void Forget(double factor);
  };

  Pair RowOf(double samples) const;
  void SetScale(double samples);
  void Solve();
  void StartAfresh(const Sums& since);
  void CountTail(double ratio, bool slow);
  Drift Accumulate(double error, const Pair& row, double value);

  DeviceProfile prior_;
  Pair scale_ = {0, 0};
  Pair belief_ = {1, 1};  // The prior's values, in scale_.
  Pair value_ = {1, 1};
  Sums sums_;
  double deviation_;  // Of relative errors.
  // Page's sums of errors above and below, and the measurements since each was 0.
  double page_[2] = {0, 0};
  Sums since_[2];
  double tail_weight_ = 0, tail_ = 0, tail_ratio_ = 0;
  uint64_t measurements_ = 0;
  uint64_t drifts_ = 0;
};

}  // namespace motley
