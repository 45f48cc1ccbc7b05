// SPDX-License-Identifier: Apache-2.0
// I12, for steps of code "approximate" that end before they are exact: only rows that arrived in
// time have a weight, and the weights are the best that these rows allow. The reported coverage and
// error follow from the weights. The GradientChecker checks the sum itself.
#pragma once

#include <vector>

#include "runtime/job_event.h"
#include "sim/checkers/kept_form.h"
#include "sim/checkers/violations.h"

namespace motley {

class CoverageChecker final : public JobObserver {
 public:
  explicit CoverageChecker(Violations& violations) : violations_(violations) {}

  void OnEvent(const JobEvent& event) override;

 private:
  void On(const event::CommandGiven& event) { form_.See(event.command); }
  void On(const event::StepOpened& event);
  void On(const event::RowArrived& event);
  void On(const event::StepApproximated& event);

  void CheckWeights(StepId step, const ApproximateSum& sum);
  void CheckCoverage(StepId step, const ApproximateSum& sum);

  Violations& violations_;
  KeptForm form_;
  StepId step_ = 0;
  std::vector<bool> arrived_;
};

}  // namespace motley
