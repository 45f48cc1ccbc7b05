// SPDX-License-Identifier: Apache-2.0
// Schemes that give out their work once, planned exactly as jobs do it: with the plan that
// RowPlans would make from the same knowledge (scheduler/placement/plan.h). Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "planner/step_schemes.h"
#include "scheduler/placement/plan.h"
#include "scheduler/step/row_code.h"

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

// The code with row i as that of worker members[i], of `workers` workers.
RowCode OverAll(RowCode code, const std::vector<WorkerId>& members, size_t workers);

// A plan whose workers have lists of rows: each row is one partition of the setting.
StepSetting RowsAsPartitions(const Plan& plan, const SchemeRequest& request);

// A scheme in which worker i answers row i of the code.
StepScheme RowScheme(const SchemeRequest& request, RowCode rows);

// A plan as a scheme; its workers are those of the request, by number. A row of several is one of
// the scheme's partitions.
StepScheme SchemeOfPlan(const Plan& plan, const SchemeRequest& request);

}  // namespace motley
