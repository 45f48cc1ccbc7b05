// SPDX-License-Identifier: Apache-2.0
#include "profiles/speed_estimator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace motley {
namespace {

constexpr double kWeight = 0.2;        // Of one more measurement in the mean.
constexpr double kNoiseWeight = 0.05;  // Of one more measurement in its variance.
constexpr double kFar = 1.5;           // This many times off the mean is not noise,
constexpr double kFarNoise = 3;        // unless so many standard deviations are more.
constexpr int kPersistent = 3;  // Far measurements in a row that are a change, not an accident.
constexpr double kRecentWeight = 0.5;  // The newest of them say most: the first may be half old.

}  // namespace

SpeedEstimator::SpeedEstimator(double samples_per_second) {
  if (samples_per_second > 0 && std::isfinite(samples_per_second)) mean_ = 1 / samples_per_second;
}

void SpeedEstimator::Add(uint64_t samples, Duration compute) {
  if (samples == 0 || compute <= Duration::zero()) return;
  const double cost = ToSeconds(compute) / static_cast<double>(samples);
  ++measurements_;
  if (mean_ == 0) {
    mean_ = cost;
    return;
  }
  const double far = std::max(kFar, 1 + kFarNoise * noise());
  const int side = cost > mean_ * far ? 1 : cost < mean_ / far ? -1 : 0;
  if (side == 0) {
    // A guess counts as one measurement, so that the first real ones weigh more than later ones.
    const double weight = std::max(kWeight, 1.0 / static_cast<double>(measurements_ + 1));
    const double off = cost / mean_ - 1;
    variance_ += kNoiseWeight * (off * off - variance_);
    mean_ += weight * (cost - mean_);
    drifting_ = 0;
    return;
  }
  const bool same_side = drifting_ * side > 0;
  recent_ = same_side ? recent_ + kRecentWeight * (cost - recent_) : cost;
  drifting_ = same_side ? drifting_ + side : side;
  if (std::abs(drifting_) >= kPersistent) {
    mean_ = recent_;
    drifting_ = 0;
    ++restarts_;
  }
}

double SpeedEstimator::samples_per_second() const { return mean_ > 0 ? 1 / mean_ : 0; }

double SpeedEstimator::noise() const { return std::sqrt(variance_); }

}  // namespace motley
