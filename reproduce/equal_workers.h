// SPDX-License-Identifier: Apache-2.0
// Leases with feedback on workers that are assumed to be equal but are not: our scheme in the
// settings of papers without speeds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "planner/step_model.h"
#include "planner/step_schemes.h"

namespace motley {

struct EqualWorkers {
  uint32_t workers = 0;        // Number of workers, and of tasks.
  uint32_t copies = 1;         // Copies of each task; a worker holds this many tasks.
  uint32_t pieces = 1;         // Pieces per task. Leases are on pieces.
  double task_seconds = 1;     // Predicted for every worker.
  double latency_seconds = 0;  // One way, for every message.
};

class EqualWorkersStep {
 public:
  static Result<EqualWorkersStep> Make(const EqualWorkers& of);

  // Runs a step on workers whose tasks take `task_seconds`. Any thread.
  StepOutcome Run(const std::vector<double>& task_seconds) const;

 private:
  EqualWorkersStep(const EqualWorkers& of, StepScheme scheme);

  EqualWorkers of_;
  StepScheme scheme_;
};

}  // namespace motley
