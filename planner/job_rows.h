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

// The options of a job that runs this scheme. Not for adaptive, partial-coded and approximate.
// `request.samples` is the size of the batch.
SchedulerOptions JobOptionsFor(std::string_view scheme, const SchemeRequest& request);

// The live workers, in ascending order.
std::vector<WorkerId> LiveOnes(const SchemeRequest& request);

// Speeds of LiveOnes for shares, in samples per second. They account for `request.waits`, the known
// extra times of answers.
std::vector<double> JobSpeeds(std::string_view scheme, const SchemeRequest& request);

// The plan with JobSpeeds, or with equal loads if that fails. kInvalidArgument if both fail.
Result<Plan> PlanOfJob(std::string_view scheme, const SchemeRequest& request);

// Turns a plan into a scheme with the request's workers, by number. If workers have several rows,
// each row is one partition of the scheme.
StepScheme SchemeOfPlan(const Plan& plan, const SchemeRequest& request);

}  // namespace motley
