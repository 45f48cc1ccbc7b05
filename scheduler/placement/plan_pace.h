// SPDX-License-Identifier: Apache-2.0
// Decides when changed speeds are a reason to look for another plan, and when to use it. A present
// plan first gets time to show itself, and a gain must last for more than one look. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace motley {

// A fresh plan is fitted to the noise of the speeds, so its gain has to hold even if each speed is
// off by this many standard errors in its disfavour.
inline constexpr double kSureOfGain = 2;

// The result of a look at speeds: whether another plan is worth its price, and whether that holds
// beyond chance.
enum class Gain { kNone, kUnsure, kSure };

class PlanPace {
 public:
  bool WorthALook(StepId step, const std::vector<WorkerId>& ids,
                  const std::vector<double>& speeds) const;
  // The workers and speeds of a look.
  void Looked(StepId step, const std::vector<WorkerId>& ids, const std::vector<double>& speeds);
  // The result of a look; returns true when enough looks in a row were sure of a gain.
  bool Gained(Gain gain);
  void Adopted(StepId step);

 private:
  bool Changed(const std::vector<WorkerId>& ids, const std::vector<double>& speeds) const;

  std::vector<WorkerId> judged_;  // The workers of the last look.
  std::vector<double> judged_speeds_;
  uint32_t gains_ = 0;   // Looks in a row that were sure of a gain.
  bool unsure_ = false;  // The last look found an unsure gain.
  StepId looked_at_ = 0;
  StepId planned_at_ = 0;  // The first step with the plan.
};

}  // namespace motley
