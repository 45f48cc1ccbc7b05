// SPDX-License-Identifier: Apache-2.0
// Shares of a job with rows after it has learned how long answers take, foreseen: steps of the
// step model, between which the plan is looked at as RowPlans looks at it. Whose answers come
// early computes more in the next plan, and who never answers in time soon nothing, so that a job
// whose vectors share a thin link ends with another plan than the one that speeds alone give. Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "planner/planned_cluster.h"
#include "planner/step_schemes.h"

namespace motley {

struct LearnedScheme {
  StepScheme scheme;
  uint64_t events = 0;  // Of the step model.
};
// `request.by_speed`, over the workers of `cluster`, and a scheme that job_rows.h knows.
// kInvalidArgument when no plan serves.
Result<LearnedScheme> LearnShares(std::string_view scheme, SchemeRequest request,
                                  const PlannedCluster& cluster, uint64_t seed);

}  // namespace motley
