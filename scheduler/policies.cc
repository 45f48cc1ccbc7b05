// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies.h"

#include <utility>

#include "scheduler/lease_scheduler.h"

namespace motley {

const std::vector<SchedulingPolicy>& SchedulingPolicies() {
  static const std::vector<SchedulingPolicy> kPolicies = {
      {"coded", "bulk-synchronous with gradient coding", &MakeCodedScheduler},
      {"lease", "bulk-synchronous with exclusive leases that follow who is late",
       &MakeLeaseScheduler},
  };
  return kPolicies;
}

Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options,
                                                 RowsToReplace rows_to_replace) {
  const auto make = options.code == "adaptive" ? &MakeLeaseScheduler : &MakeCodedScheduler;
  return make(options, std::move(rows_to_replace));
}

}  // namespace motley
