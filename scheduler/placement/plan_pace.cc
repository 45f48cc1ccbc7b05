// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/plan_pace.h"

#include <cmath>

namespace motley {
namespace {

constexpr uint64_t kStepsBetweenPlans = 3;  // A plan is given time to show itself.
constexpr uint32_t kGainsInARow = 3;        // One look may see a gain that is noise.
constexpr uint64_t kStepsToBeSurer = 8;     // More measurements may make a gain sure.
constexpr double kSpeedNoise = 0.05;        // Smaller changes of all speeds need no second look.

}  // namespace

bool PlanPace::WorthALook(StepId step, const std::vector<WorkerId>& ids,
                          const std::vector<double>& speeds) const {
  if (step < planned_at_ + kStepsBetweenPlans) return false;
  const bool surer = unsure_ && step >= looked_at_ + kStepsToBeSurer;
  return gains_ > 0 || surer || Changed(ids, speeds);
}

// Workers without a share count, too, because they may have become fit for one.
bool PlanPace::Changed(const std::vector<WorkerId>& ids, const std::vector<double>& speeds) const {
  if (ids != judged_) return true;
  for (size_t i = 0; i < speeds.size(); ++i) {
    if (std::abs(speeds[i] - judged_speeds_[i]) > kSpeedNoise * judged_speeds_[i]) return true;
  }
  return false;
}

void PlanPace::Looked(StepId step, const std::vector<WorkerId>& ids,
                      const std::vector<double>& speeds) {
  looked_at_ = step;
  judged_ = ids;
  judged_speeds_ = speeds;
}

bool PlanPace::Gained(Gain gain) {
  gains_ = gain == Gain::kSure ? gains_ + 1 : 0;
  unsure_ = gain == Gain::kUnsure;
  return gains_ >= kGainsInARow;
}

void PlanPace::Adopted(StepId step) {
  gains_ = 0;
  unsure_ = false;
  planned_at_ = step;
}

}  // namespace motley
