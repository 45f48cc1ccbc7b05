// SPDX-License-Identifier: Apache-2.0
#include "scheduler/steady_speeds.h"

#include <algorithm>

#include "base/assert.h"

namespace motley {
namespace {

constexpr double kLooks = 20;     // The average goes over about this many.
constexpr double kChanged = 1.3;  // This many times off the average is no noise of learned speeds.

}  // namespace

void SteadySpeeds::Add(const std::vector<WorkerId>& ids, const std::vector<double>& speeds) {
  MOTLEY_ASSERT(ids.size() == speeds.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= averages_.size()) averages_.resize(ids[i] + 1);
    Average& average = averages_[ids[i]];
    const bool changed =
        speeds[i] > average.speed * kChanged || average.speed > speeds[i] * kChanged;
    if (changed) average = {};
    average.looks = std::min(average.looks + 1, kLooks);
    average.speed += (speeds[i] - average.speed) / average.looks;
  }
}

std::vector<double> SteadySpeeds::Of(const std::vector<WorkerId>& ids) const {
  std::vector<double> speeds;
  for (const WorkerId id : ids) {
    MOTLEY_ASSERT(id < averages_.size() && averages_[id].looks > 0);
    speeds.push_back(averages_[id].speed);
  }
  return speeds;
}

}  // namespace motley
