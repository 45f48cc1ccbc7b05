// SPDX-License-Identifier: Apache-2.0
// Schemes on the step model: how many copies of what are where, and which policy works a step off.
// Which schemes there are says coding/schemes.h.
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
  std::vector<StepWorker> workers;  // As predicted.
  uint32_t partitions = 0;          // At least one per worker.
  uint32_t copies = 1;  // Of each partition, r; schemes with a tolerance have s = r - 1.
  uint64_t seed = 0;    // Of codes that draw coefficients.
  // As jobs do it: with shares that follow speeds, and what answers take besides as far as that was
  // learned.
  bool by_speed = false;
  double samples = 0;         // Of a step; by_speed needs it.
  std::vector<double> waits;  // By worker, seconds; empty: nothing is known.
  // Of codes only who computes what is worked out (CodeForm::draft), where by_speed.
  bool draft = false;
};

struct StepScheme {
  std::shared_ptr<const StepSetting> setting;  // Shared with the policies.
  // A fresh policy for one step over `setting`; any thread.
  std::function<std::unique_ptr<StepPolicy>()> policy;
};

// kInvalidArgument, with what to change, for a request that the scheme cannot serve.
Status CheckStepRequest(const Scheme& scheme, const SchemeRequest& request);
// kNotFound for a name that the planner does not try, with the names there are.
Result<StepScheme> MakeStepScheme(std::string_view name, const SchemeRequest& request);

}  // namespace motley
