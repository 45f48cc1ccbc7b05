// SPDX-License-Identifier: Apache-2.0
#include "planner/policies.h"

#include <utility>

#include "coding/schemes.h"
#include "planner/auto/auto_scheduler.h"
#include "scheduler/job_scheduler.h"

namespace motley {

Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options,
                                                 SharedBatches batches) {
  if (SchemeNamed(options.code).chosen_later()) return MakeAutoScheduler(options);
  MOTLEY_ASSIGN_OR_RETURN(auto made, JobScheduler::Make(options, std::move(batches)));
  return std::unique_ptr<Scheduler>(std::move(made));
}

}  // namespace motley
