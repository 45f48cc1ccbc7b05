// SPDX-License-Identifier: Apache-2.0
#include "scheduler/step_engine.h"

#include <utility>

#include "base/assert.h"
#include "coding/gradient_code.h"
#include "scheduler/leases/lease_engine.h"
#include "scheduler/rows/row_engine.h"

namespace motley {

// Builds a code now, so that a code that cannot serve at all fails before workers come.
Status CheckStepOptions(const SchedulerOptions& options) {
  const Scheme& scheme = SchemeNamed(options.code);
  if (scheme.leases()) return Status::Ok();
  CodeRequest request = RequestOf(options, std::vector<double>(options.workers, 1.0));
  if (!scheme.keeps_copies) request.stragglers = 0;
  return BuildCode(options.code, request).status();
}

std::unique_ptr<StepEngine> MakeStepEngine(JobState& job, UpdateState& update) {
  if (SchemeNamed(job.options.code).leases()) return std::make_unique<LeaseEngine>(job, update);
  return std::make_unique<RowEngine>(job, update);
}

std::unique_ptr<StepEngine> MakeStepEngine(JobState& job, UpdateState& update, WorkerId owner) {
  Result<Plan> plan = MakePlanOf({"none"}, job.options, {owner}, {1.0});
  MOTLEY_ASSERT(plan.ok());
  return std::make_unique<RowEngine>(job, update, std::move(plan).value());
}

}  // namespace motley
