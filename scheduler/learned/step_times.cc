// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/step_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace motley {
namespace {

constexpr double kMostOfMedian = 6;
constexpr double kLeastNoise = 0.04;

double MeanOf(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

void StepTimes::Add(double seconds) {
  if (seconds_.size() < kept_) {
    seconds_.push_back(seconds);
    return;
  }
  seconds_[next_] = seconds;
  next_ = (next_ + 1) % kept_;
}

std::vector<double> StepTimes::Capped() const {
  std::vector<double> values = seconds_;
  if (values.empty()) return values;
  std::sort(values.begin(), values.end());
  const double most = kMostOfMedian * values[(values.size() - 1) / 2];
  for (double& value : values) value = std::min(value, most);
  return values;
}

double StepTimes::Mean() const { return MeanOf(Capped()); }

double StepTimes::Median() const {
  const std::vector<double> values = Capped();
  return values.empty() ? 0 : values[(values.size() - 1) / 2];
}

double StepTimes::Error() const {
  const std::vector<double> values = Capped();
  if (values.empty()) return 0;
  const auto n = static_cast<double>(values.size());
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double scatter = n > 1 ? std::sqrt(squares / (n - 1)) : mean;
  return std::max(scatter, kLeastNoise * mean) / std::sqrt(n);
}

}  // namespace motley
