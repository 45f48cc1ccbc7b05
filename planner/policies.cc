// SPDX-License-Identifier: Apache-2.0
#include "planner/policies.h"

#include <utility>

#include "coding/gradient_code.h"
#include "planner/auto/auto_scheduler.h"
#include "scheduler/coded_scheduler.h"
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
      {"short", "short", false, true},
  };
  return kSchemes;
}

// As the scheme of that name in step_schemes.cc.
uint32_t JobScheme::Tolerates(uint32_t copies) const {
  if (parts) return copies > 2 ? 1 : 0;
  return copies - 1;
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

Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options) {
  if (options.code == "auto") return MakeAutoScheduler(options);
  MOTLEY_ASSIGN_OR_RETURN(auto made, MakeBulkSynchronous(options));
  return std::unique_ptr<Scheduler>(std::move(made));
}

Result<std::unique_ptr<BulkSynchronous>> MakeBulkSynchronous(const SchedulerOptions& options) {
  if (options.code == "adaptive") {
    MOTLEY_RETURN_IF_ERROR(CheckBulkOptions(options));
    return std::unique_ptr<BulkSynchronous>(std::make_unique<LeaseScheduler>(options));
  }
  MOTLEY_RETURN_IF_ERROR(CheckCodedOptions(options));
  return std::unique_ptr<BulkSynchronous>(std::make_unique<CodedScheduler>(options));
}

}  // namespace motley
