// SPDX-License-Identifier: Apache-2.0
// Leases with feedback on workers that are thought equal and are not: our scheme in the settings of
// papers that know nothing of speeds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "planner/step_model.h"
#include "planner/step_schemes.h"

namespace motley {

struct EqualWorkers {
  uint32_t workers = 0;        // And as many tasks.
  uint32_t copies = 1;         // Of each task, so that a worker holds so many.
  uint32_t pieces = 1;         // Into which a task is cut; leases are on pieces.
  double task_seconds = 1;     // As predicted, of any worker.
  double latency_seconds = 0;  // One way, of every message.
};

class EqualWorkersStep {
 public:
  static Result<EqualWorkersStep> Make(const EqualWorkers& of);

  // A step on workers whose tasks take so many seconds. Any thread.
  StepOutcome Run(const std::vector<double>& task_seconds) const;

 private:
  EqualWorkersStep(const EqualWorkers& of, StepScheme scheme);

  EqualWorkers of_;
  StepScheme scheme_;
};

}  // namespace motley
