// SPDX-License-Identifier: Apache-2.0
// Updates a device's profile from the times of its work, and detects changes of speed. Pure;
// measurements come in time order.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"
#include "profiles/profile.h"

namespace motley {

enum class Drift { kNone, kSlower, kFaster };

// Estimates overhead and time per sample by least squares on relative errors. Measurements are
// forgotten exponentially, the prior is not. So what the measurements cannot separate (pieces of
// one size only) stays as in the prior, and the system never becomes singular. Errors beyond three
// standard deviations are clipped there (Huber 1964); the standard deviation is learned from mean
// absolute errors.
//
// Changes are detected by Page's two-sided cumulative sum (Biometrika 1954) of standardised errors,
// with allowance 0.5 and threshold 12. At constant speed with normal errors, false alarms are at
// least 500,000 measurements apart (Siegmund's approximation; observed: 2 in 10 million). At 10 %
// noise a change by 25 % is detected after 8 measurements on average, and after at most 17 in 2000
// runs. A change by 10 % is seldom detected; the estimate follows it instead. After a detection the
// estimate restarts from the measurements since the change began.
class DeviceEstimator {
 public:
  // `prior` is measured or guessed, with samples_per_second > 0. Its knee, memory and identity
  // stay.
  explicit DeviceEstimator(const DeviceProfile& prior);

  // Adds a piece of `samples` > 0 that took `compute` > 0; other values are ignored. Returns a
  // drift other than kNone at the measurement that makes a change certain.
  Drift Add(double samples, Duration compute);

  // The prior, with the learned overhead, speed, jitter and tail.
  DeviceProfile profile() const;
  double SecondsFor(double samples) const;
  uint64_t measurements() const { return measurements_; }
  uint64_t drifts() const { return drifts_; }

 private:
  using Pair = std::array<double, 2>;  // Overhead and time per sample, both relative to scale_.
  // Sums over measurements: the left side (a symmetric 2 x 2 matrix) and right side of the normal
  // equations.
  struct Sums {
    double left[3] = {0, 0, 0};  // 00, 01, 11.
    Pair right = {0, 0};
    double total = 0, count = 0;  // total / count: measured over predicted time.

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
  Pair belief_ = {1, 1};  // The prior's values, relative to scale_.
  Pair value_ = {1, 1};
  Sums sums_;
  double deviation_;  // Standard deviation of relative errors.
  // Page's sums of errors above and below, and the measurements since each sum was 0.
  double page_[2] = {0, 0};
  Sums since_[2];
  double tail_weight_ = 0, tail_ = 0, tail_ratio_ = 0;
  uint64_t measurements_ = 0;
  uint64_t drifts_ = 0;
};

}  // namespace motley
