// SPDX-License-Identifier: Apache-2.0
// Schemes that give out their work once, planned exactly as jobs do it: with the plan that
// RowPlans would make from the same knowledge (scheduler/placement/plan.h). Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "planner/step_schemes.h"
#include "scheduler/placement/plan.h"

namespace motley {

// The options of a job that runs this scheme. `request.samples` is the size of the batch; 0: one
// sample per partition.
SchedulerOptions JobOptionsFor(std::string_view scheme, const SchemeRequest& request);

// The live workers, in ascending order.
std::vector<WorkerId> LiveOnes(const SchemeRequest& request);

// Speeds of LiveOnes for shares, in samples per second. They account for `request.waits`, the known
// extra times of answers.
std::vector<double> JobSpeeds(std::string_view scheme, const SchemeRequest& request);

// The plan with JobSpeeds, or with equal loads if that fails. kInvalidArgument if both fail.
Result<Plan> PlanOfJob(std::string_view scheme, const SchemeRequest& request);

// A plan as a scheme; its workers are those of the request, by number. Each row of a list is one of
// the scheme's partitions.
StepScheme SchemeOfPlan(std::string_view name, const Plan& plan, const SchemeRequest& request);

}  // namespace motley
