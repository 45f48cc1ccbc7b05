// SPDX-License-Identifier: Apache-2.0
// Predicts the shares of a job with rows once it has learned how long answers take. It runs steps
// of the step model and reconsiders the plan between them as RowPlans does. A worker with
// early answers computes more in the next plan, and one that never answers in time soon computes
// nothing. So a job whose vectors share a narrow link gets another plan than speeds alone would
// give. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "planner/planned_cluster.h"
#include "planner/step_schemes.h"

namespace motley {

struct LearnedScheme {
  StepScheme scheme;
  uint64_t events = 0;  // Events of the step model.
};
// Preconditions: `request.by_speed`, the request's workers are those of `cluster`, and job_rows.h
// knows the scheme. kInvalidArgument if no plan serves.
Result<LearnedScheme> LearnShares(std::string_view scheme, SchemeRequest request,
                                  const PlannedCluster& cluster, uint64_t seed);

}  // namespace motley
