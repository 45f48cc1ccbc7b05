// SPDX-License-Identifier: Apache-2.0
// When another plan is looked for because speeds changed, and when one that was found is used: not
// before the present one could show itself, and not for a gain that one look saw. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace motley {

// Standard errors of the speeds that a gain has to outlast: a fresh plan is fitted to what chance
// did to them, and has to be the better one also if chance favoured it.
inline constexpr double kSureOfGain = 2;

// What a look at speeds found: that another plan is worth its price, and whether that outlasts what
// chance may have done.
enum class Gain { kNone, kUnsure, kSure };

class PlanPace {
 public:
  bool WorthALook(StepId step, const std::vector<WorkerId>& ids,
                  const std::vector<double>& speeds) const;
  // What a look saw.
  void Looked(StepId step, const std::vector<WorkerId>& ids, const std::vector<double>& speeds);
  // What it found; true when enough looks in a row were sure of a gain.
  bool Gained(Gain gain);
  void Adopted(StepId step);

 private:
  bool Changed(const std::vector<WorkerId>& ids, const std::vector<double>& speeds) const;

  std::vector<WorkerId> judged_;  // Whom the last look saw, and how fast.
  std::vector<double> judged_speeds_;
  uint32_t gains_ = 0;   // Looks in a row that were sure of a gain.
  bool unsure_ = false;  // The last look saw one that was not.
  StepId looked_at_ = 0;
  StepId planned_at_ = 0;  // Step from which the plan is used.
};

}  // namespace motley
