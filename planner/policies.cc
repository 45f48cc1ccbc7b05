// SPDX-License-Identifier: Apache-2.0
#include "planner/policies.h"

#include "coding/schemes.h"
#include "planner/auto/auto_scheduler.h"
#include "scheduler/coded_scheduler.h"
#include "scheduler/lease_scheduler.h"

namespace motley {

Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options) {
  if (SchemeNamed(options.code).chosen_later()) return MakeAutoScheduler(options);
  MOTLEY_ASSIGN_OR_RETURN(auto made, MakeBulkSynchronous(options));
  return std::unique_ptr<Scheduler>(std::move(made));
}

Result<std::unique_ptr<BulkSynchronous>> MakeBulkSynchronous(const SchedulerOptions& options) {
  if (SchemeNamed(options.code).leases()) {
    MOTLEY_RETURN_IF_ERROR(CheckBulkOptions(options));
    return std::unique_ptr<BulkSynchronous>(std::make_unique<LeaseScheduler>(options));
  }
  MOTLEY_RETURN_IF_ERROR(CheckCodedOptions(options));
  return std::unique_ptr<BulkSynchronous>(std::make_unique<CodedScheduler>(options));
}

}  // namespace motley
