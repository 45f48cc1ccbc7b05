// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/steady_speeds.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace motley {
namespace {

constexpr double kLooks = 20;  // The average covers about this many looks.
// Weights of 1/n over a long time are as good as a mean of nearly 2 n.
constexpr double kMostMeasurements = 2 * kLooks;
// A look after a change is based on about this many measurements.
constexpr double kFirstMeasurements = 3;
// A speed that is kChanged times off the average is a change and not noise, unless kChangedNoise
// standard deviations of one measurement are more.
constexpr double kChanged = 1.3;
constexpr double kChangedNoise = 1.5;

}  // namespace

void SteadySpeeds::Add(const std::vector<WorkerId>& ids, const std::vector<double>& speeds,
                       const std::vector<double>& noise) {
  MOTLEY_ASSERT(ids.size() == speeds.size() && ids.size() == noise.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= averages_.size()) averages_.resize(ids[i] + 1);
    Average& average = averages_[ids[i]];
    const double far = std::max(kChanged, 1 + kChangedNoise * noise[i]);
    const bool changed = speeds[i] > average.speed * far || average.speed > speeds[i] * far;
    if (changed) average = {};
    average.noise = noise[i];
    average.measurements = average.looks == 0
                               ? kFirstMeasurements
                               : std::min(average.measurements + 1, kMostMeasurements);
    average.looks = std::min(average.looks + 1, kLooks);
    average.speed += (speeds[i] - average.speed) / average.looks;
  }
}

std::vector<double> SteadySpeeds::Of(const std::vector<WorkerId>& ids, double errors) const {
  std::vector<double> speeds;
  speeds.reserve(ids.size());
  for (const WorkerId id : ids) {
    MOTLEY_ASSERT(id < averages_.size() && averages_[id].looks > 0);
    const Average& average = averages_[id];
    // Measurements are seconds per sample, so their error moves the inverse of the speed.
    const double off = std::abs(errors) * average.noise / std::sqrt(average.measurements);
    speeds.push_back(errors < 0 ? average.speed / (1 + off) : average.speed * (1 + off));
  }
  return speeds;
}

}  // namespace motley
