// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies.h"

#include <utility>

#include "coding/gradient_code.h"
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

std::vector<JobCode> JobCodes() {
  std::vector<JobCode> codes;
  for (const GradientCode& code : GradientCodes()) codes.push_back({code.name, code.summary});
  codes.push_back({"adaptive",
                   "no coding; work moves within a step from who is late to whoever has a copy",
                   false});
  return codes;
}

Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options,
                                                 RowsToReplace rows_to_replace) {
  const auto make = options.code == "adaptive" ? &MakeLeaseScheduler : &MakeCodedScheduler;
  return make(options, std::move(rows_to_replace));
}

}  // namespace motley
