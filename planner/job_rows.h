// SPDX-License-Identifier: Apache-2.0
// Schemes whose work is given out once, as jobs give it out: with the plan that RowPlans
// would make (scheduler/placement/plan.h) of what it has learned. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "planner/step_schemes.h"
#include "scheduler/placement/plan.h"
#include "scheduler/step/row_code.h"

namespace motley {

// How a job that runs this scheme of the planner's (adaptive, partial-coded and approximate apart)
// is asked for it. `request.samples` says how large its batch is.
SchedulerOptions JobOptionsFor(std::string_view scheme, const SchemeRequest& request);

// The workers that live, in their order.
std::vector<WorkerId> LiveOnes(const SchemeRequest& request);

// Samples per second of each of LiveOnes, for shares: `request.waits` is what their answers take
// besides, as far as it is known.
std::vector<double> JobSpeeds(std::string_view scheme, const SchemeRequest& request);

// The plan with such speeds, or else with equal loads. kInvalidArgument when neither serves.
Result<Plan> PlanOfJob(std::string_view scheme, const SchemeRequest& request);

// The code with row i as that of worker members[i], of so many workers.
RowCode OverAll(RowCode code, const std::vector<WorkerId>& members, size_t workers);

// A plan whose workers have lists of rows: each row is one partition of the setting.
StepSetting RowsAsPartitions(const Plan& plan, const SchemeRequest& request);

// A plan as a scheme; its workers are those of the request, by number. A row of several is one of
// the scheme's partitions.
StepScheme SchemeOfPlan(const Plan& plan, const SchemeRequest& request);

}  // namespace motley
