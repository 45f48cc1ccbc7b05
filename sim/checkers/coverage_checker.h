// SPDX-License-Identifier: Apache-2.0
// I12, for steps of code "approximate" that end before they are exact: only rows that arrived in
// time have a weight, and the weights are the best that these rows allow. The reported coverage and
// error follow from the weights. The GradientChecker checks the sum itself.
#pragma once

#include <vector>

#include "runtime/job.h"
#include "sim/checkers/kept_form.h"
#include "sim/checkers/violations.h"

namespace motley {

class CoverageChecker final : public JobObserver {
 public:
  explicit CoverageChecker(Violations& violations) : violations_(violations) {}

  void OnCommand(const Command& command, Time) override { form_.See(command); }
  void OnStepOpened(StepId step, const CodeForm& form, Time now) override;
  void OnRowArrived(StepId step, RowId row, WorkerId worker, Time now) override;
  void OnStepApproximated(StepId step, const ApproximateSum& sum, Time now) override;

 private:
  void CheckWeights(StepId step, const ApproximateSum& sum);
  void CheckCoverage(StepId step, const ApproximateSum& sum);

  Violations& violations_;
  KeptForm form_;
  StepId step_ = 0;
  std::vector<bool> arrived_;
};

}  // namespace motley
