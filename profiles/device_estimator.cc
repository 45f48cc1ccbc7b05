// SPDX-License-Identifier: Apache-2.0
#include "profiles/device_estimator.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "profiles/cost_model.h"

namespace motley {
namespace {

constexpr double kRemembered = 100;     // About how many measurements have weight.
constexpr double kBelief = 0.5;         // Relative error of the prior.
constexpr double kLeastOverhead = 0.5;  // The least in the scale, relative to the work.
constexpr double kFirstDeviation = 0.1;
constexpr double kLeastDeviation = 1e-3;  // Relative; no clock is more accurate.
constexpr double kDeviationWeight = 0.02;
constexpr double kClip = 3;              // Standard deviations.
constexpr double kMeanAbsolute = 0.796;  // Mean absolute value of a normal error clipped at kClip.
constexpr double kAllowance = 0.5;
constexpr double kThreshold = 12;
constexpr double kRecent = 0.5;  // Weight of the previous measurement in the estimate of a change.

constexpr double kSlowPiece = 2;   // A piece in the tail takes this many times as long,
constexpr double kSlowErrors = 5;  // and is this many standard deviations off.
constexpr double kTailMemory = 2000;

}  // namespace

void DeviceEstimator::Sums::Add(const Pair& row, double value, double weight) {
  left[0] += weight * row[0] * row[0];
  left[1] += weight * row[0] * row[1];
  left[2] += weight * row[1] * row[1];
  for (int i = 0; i < 2; ++i) right[i] += weight * row[i] * value;
  total += weight * value;
  count += weight;
}

void DeviceEstimator::Sums::Forget(double factor) {
  for (double& sum : left) sum *= factor;
  for (double& sum : right) sum *= factor;
  total *= factor;
  count *= factor;
}

DeviceEstimator::DeviceEstimator(const DeviceProfile& prior)
    : prior_(prior), deviation_(prior.jitter > 0 ? prior.jitter : kFirstDeviation) {
  MOTLEY_ASSERT(prior.samples_per_second > 0);
  scale_ = {prior.overhead_seconds, 1 / prior.samples_per_second};
  deviation_ = std::max(deviation_, kLeastDeviation);
}

// The least overhead in the scale keeps overhead learnable if the prior has none.
void DeviceEstimator::SetScale(double samples) {
  const double work = scale_[1] * std::max(samples, prior_.knee_samples);
  scale_[0] = std::max(prior_.overhead_seconds, kLeastOverhead * work);
  belief_ = {prior_.overhead_seconds / scale_[0], 1};
  value_ = belief_;
}

// The shares of overhead and time per sample in the predicted time, since all errors are relative.
DeviceEstimator::Pair DeviceEstimator::RowOf(double samples) const {
  const double overhead = scale_[0];
  const double work = scale_[1] * std::max(samples, prior_.knee_samples);
  const double predicted = value_[0] * overhead + value_[1] * work;
  return {overhead / predicted, work / predicted};
}

Drift DeviceEstimator::Add(double samples, Duration compute) {
  if (!(samples > 0) || !std::isfinite(samples) || compute <= Duration::zero()) return Drift::kNone;
  if (measurements_++ == 0) SetScale(samples);
  const double predicted = SecondsFor(samples);
  const Pair row = RowOf(samples);
  const double value = ToSeconds(compute) / predicted;  // 1 when value_ is right.
  const double error = (value - 1) / deviation_;
  CountTail(value, value > kSlowPiece && error > kSlowErrors);
  const double clipped = std::clamp(error, -kClip, kClip);
  const Drift drift = Accumulate(clipped, row, value);
  if (drift != Drift::kNone) return drift;
  sums_.Forget(1 - 1 / kRemembered);
  sums_.Add(row, 1 + clipped * deviation_, 1);
  const double spread = std::abs(clipped) * deviation_ / kMeanAbsolute;
  deviation_ = std::max(kLeastDeviation, deviation_ + kDeviationWeight * (spread - deviation_));
  Solve();
  return Drift::kNone;
}

// Updates Page's sums. All rows of one sum are relative to nearly the same prediction.
Drift DeviceEstimator::Accumulate(double error, const Pair& row, double value) {
  for (int side = 0; side < 2; ++side) {
    page_[side] = std::max(0.0, page_[side] + (side == 0 ? error : -error) - kAllowance);
    if (page_[side] == 0) {
      since_[side] = Sums();
      continue;
    }
    since_[side].Forget(kRecent);
    since_[side].Add(row, value, 1);
    if (page_[side] < kThreshold) continue;
    ++drifts_;
    StartAfresh(since_[side]);
    return side == 0 ? Drift::kSlower : Drift::kFaster;
  }
  return Drift::kNone;
}

// Assumes that the device changed as a whole, as far as the new measurements cannot separate
// overhead from time per sample.
void DeviceEstimator::StartAfresh(const Sums& since) {
  const double ratio = since.total / since.count;
  for (int i = 0; i < 2; ++i) belief_[i] = value_[i] * ratio;
  sums_ = since;
  page_[0] = page_[1] = 0;
  since_[0] = since_[1] = Sums();
  Solve();
}

void DeviceEstimator::Solve() {
  const double weight = deviation_ * deviation_ / (kBelief * kBelief);  // Weight of the prior.
  const double a = sums_.left[0] + weight;
  const double b = sums_.left[1];
  const double d = sums_.left[2] + weight;
  const double right0 = sums_.right[0] + weight * belief_[0];
  const double right1 = sums_.right[1] + weight * belief_[1];
  const double determinant = a * d - b * b;  // > 0, because the prior adds weight to both terms.
  value_ = {(d * right0 - b * right1) / determinant, (a * right1 - b * right0) / determinant};
  // Neither value can be negative: the other one then explains everything.
  if (value_[0] < 0) value_ = {0, right1 / d};
  if (value_[1] < 0) value_ = {right0 / a, 0};
}

void DeviceEstimator::CountTail(double ratio, bool slow) {
  const double keep = 1 - 1 / kTailMemory;
  tail_weight_ = tail_weight_ * keep + 1;
  tail_ = tail_ * keep + (slow ? 1 : 0);
  tail_ratio_ = tail_ratio_ * keep + (slow ? ratio : 0);
}

double DeviceEstimator::SecondsFor(double samples) const {
  return value_[0] * scale_[0] + value_[1] * scale_[1] * std::max(samples, prior_.knee_samples);
}

DeviceProfile DeviceEstimator::profile() const {
  DeviceProfile learned = prior_;
  if (measurements_ == 0) return learned;
  learned.overhead_seconds = value_[0] * scale_[0];
  // If all pieces take the same time, the speed is unknown, not infinite.
  learned.samples_per_second =
      1 / std::max(value_[1] * scale_[1], 1e-3 / prior_.samples_per_second);
  learned.jitter = deviation_;
  learned.tail_probability = tail_ / tail_weight_;
  learned.tail_factor = tail_ > 0 ? tail_ratio_ / tail_ : 1;
  return learned;
}

}  // namespace motley
