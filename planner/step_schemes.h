// SPDX-License-Identifier: Apache-2.0
// The list of step schemes. A scheme says which worker holds which copies, and which policy runs a
// step: the leases of a job, or the rows of a job (planner/engine_step.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "coding/schemes.h"
#include "scheduler/step/step_policy.h"

namespace motley {

struct SchemeRequest {
  std::vector<StepWorker> workers;  // Predictions.
  uint32_t partitions = 0;          // At least one per worker.
  uint32_t copies = 1;  // r copies of each partition; schemes with a tolerance have s = r - 1.
  uint64_t seed = 0;    // For codes that draw coefficients.
  // Plans as jobs do: shares follow speeds and the learned extra times of answers, `waits`.
  // Otherwise schemes are as published: shares are the best possible ones for these workers, and
  // workers that send several vectors do not skip what others have sent.
  bool by_speed = false;
  double samples = 0;         // Samples per step; by_speed needs it.
  std::vector<double> waits;  // Seconds by worker; empty: unknown.
  // With by_speed: codes only determine which worker computes what (CodeForm::draft).
  bool draft = false;
};

struct StepScheme {
  std::shared_ptr<const StepSetting> setting;  // Shared with the policies.
  // Makes a fresh policy for one step over `setting`. Any thread may call it.
  std::function<std::unique_ptr<StepPolicy>()> policy;
};

// kInvalidArgument if the scheme cannot serve the request; the message says what to change.
Status CheckStepRequest(const Scheme& scheme, const SchemeRequest& request);
// kNotFound for a name that the planner does not try; the message lists the names that it tries.
Result<StepScheme> MakeStepScheme(std::string_view name, const SchemeRequest& request);

}  // namespace motley
