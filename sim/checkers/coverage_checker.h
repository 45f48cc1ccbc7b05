// SPDX-License-Identifier: Apache-2.0
// Steps of code "approximate" that ended before they were exact: what is said of their sum follows
// from rows that came in time, is the best that these allow, and leaves an error that is told. That
// the sum is what is said of it is the GradientChecker's.
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
