// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/step_times.h"

#include <algorithm>
#include <numeric>

namespace motley {
namespace {

constexpr double kMostOfMedian = 6;

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

}  // namespace motley
