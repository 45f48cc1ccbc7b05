// SPDX-License-Identifier: Apache-2.0
// The list of step schemes: how many copies of what are where, and which policy works a step off.
// To add one: a policy in scheduler/step/, and one line in step_schemes.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
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

struct StepSchemeKind {
  const char* name;
  const char* summary;  // One line for --help.
  uint32_t least_copies;
  // kInvalidArgument, with what to change, when the scheme cannot serve the request.
  Result<StepScheme> (*make)(const SchemeRequest& request);
  bool leases;  // Work is given out partition by partition; otherwise all of a worker's at once.
  bool exact;   // Never leaves an error.
};

// Every scheme, in the order of --help.
const std::vector<StepSchemeKind>& StepSchemes();
// kNotFound for an unknown name, with the names there are.
// kInvalidArgument, with what to change, for a request that the scheme cannot serve.
Status CheckStepRequest(const StepSchemeKind& kind, const SchemeRequest& request);
Result<StepScheme> MakeStepScheme(std::string_view name, const SchemeRequest& request);

}  // namespace motley
