// SPDX-License-Identifier: Apache-2.0
#include "scheduler/policies.h"

#include <utility>

#include "coding/gradient_code.h"
#include "scheduler/auto_scheduler.h"
#include "scheduler/lease_scheduler.h"

namespace motley {

const std::vector<SchedulingPolicy>& SchedulingPolicies() {
  static const std::vector<SchedulingPolicy> kPolicies = {
      {"coded", "bulk-synchronous with gradient coding", &MakeCodedScheduler},
      {"lease", "bulk-synchronous with exclusive leases that follow who is late",
       &MakeLeaseScheduler},
      {"auto", "one of the others at a time, chosen from what was learned of the cluster",
       &MakeAutoScheduler},
  };
  return kPolicies;
}

// Codes with equal shares (cyclic, rs) are not here: where all workers are alike repetition is as
// fast, and elsewhere heterogeneous is faster; building them takes a job's loop too long.
const std::vector<JobScheme>& JobSchemes() {
  static const std::vector<JobScheme> kSchemes = {
      {"proportional", "none", false},
      {"repetition", "repetition", false},
      {"heterogeneous", "heterogeneous", false},
      {"group", "group", false},
      {"adaptive", "adaptive", true},
      {"multi-message", "multi-message", false},
  };
  return kSchemes;
}

const JobScheme* JobSchemeOf(std::string_view scheme) {
  for (const JobScheme& one : JobSchemes()) {
    if (scheme == one.scheme) return &one;
  }
  return nullptr;
}

std::vector<JobCode> JobCodes() {
  std::vector<JobCode> codes;
  codes.push_back({"auto",
                   "chosen from the others while the job runs, by what the workers turn out to be",
                   false});
  for (const GradientCode& code : GradientCodes()) codes.push_back({code.name, code.summary});
  codes.push_back({"adaptive",
                   "no coding; work moves within a step from who is late to whoever has a copy",
                   false});
  return codes;
}

Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options,
                                                 RowsToReplace rows_to_replace) {
  const auto make = options.code == "auto"       ? &MakeAutoScheduler
                    : options.code == "adaptive" ? &MakeLeaseScheduler
                                                 : &MakeCodedScheduler;
  return make(options, std::move(rows_to_replace));
}

}  // namespace motley
