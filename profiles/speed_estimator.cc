// SPDX-License-Identifier: Apache-2.0
#include "profiles/speed_estimator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace motley {
namespace {

constexpr double kWeight = 0.2;        // Weight of one more measurement in the mean.
constexpr double kNoiseWeight = 0.05;  // Weight of one more measurement in the variance.
constexpr double kFar = 1.5;           // An outlier is this many times off the mean,
constexpr double kFarNoise = 3;        // and, above the mean, this many standard deviations,
constexpr double kBelowNoise = 2;      // or, below the mean, this many.
constexpr int kPersistent = 3;         // Outliers in a row that count as a change.
constexpr double kRecentWeight = 0.5;  // The newest weighs most: the first may mix speeds.
// Outliers add kFarCounts to a counter, others subtract kNearCounts. From kRestless on, outliers
// are part of the speed.
constexpr int kFarCounts = 2, kNearCounts = 1, kRestless = 8;

}  // namespace

SpeedEstimator::SpeedEstimator(double samples_per_second) {
  if (samples_per_second > 0 && std::isfinite(samples_per_second)) {
    StartAfresh(1 / samples_per_second);
  }
}

void SpeedEstimator::Add(uint64_t samples, Duration compute) {
  if (samples == 0 || compute <= Duration::zero()) return;
  const double cost = ToSeconds(compute) / static_cast<double>(samples);
  ++measurements_;
  if (mean_ == 0) {
    StartAfresh(cost);
    return;
  }
  all_ += kWeight * (cost - all_);
  all_square_ += kWeight * (cost * cost - all_square_);
  const double far = std::max(kFar, 1 + kFarNoise * noise());
  const double below = std::min(1 / far, 1 - kBelowNoise * noise());
  const int side = cost > mean_ * far ? 1 : cost < mean_ * below ? -1 : 0;
  if (side == 0) {
    // The guess counts as one measurement, so that the first real ones weigh more than later ones.
    const double weight = std::max(kWeight, 1.0 / static_cast<double>(measurements_ + 1));
    const double off = cost / mean_ - 1;
    variance_ += kNoiseWeight * (off * off - variance_);
    mean_ += weight * (cost - mean_);
    drifting_ = 0;
    restless_ = std::max(0, restless_ - kNearCounts);
    return;
  }
  const bool same_side = drifting_ * side > 0;
  recent_ = same_side ? recent_ + kRecentWeight * (cost - recent_) : cost;
  drifting_ = same_side ? drifting_ + side : side;
  restless_ += kFarCounts;
  if (std::abs(drifting_) >= kPersistent) {
    StartAfresh(recent_);
    ++restarts_;
  } else if (restless_ >= kRestless) {
    variance_ = std::max(variance_, all_square_ / (all_ * all_) - 1);
    StartAfresh(all_);
    ++restarts_;
  }
}

void SpeedEstimator::StartAfresh(double mean) {
  mean_ = all_ = mean;
  all_square_ = mean * mean;
  drifting_ = restless_ = 0;
}

double SpeedEstimator::samples_per_second() const { return mean_ > 0 ? 1 / mean_ : 0; }

double SpeedEstimator::noise() const { return std::sqrt(variance_); }

}  // namespace motley
