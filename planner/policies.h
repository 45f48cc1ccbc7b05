// SPDX-License-Identifier: Apache-2.0
// The list of scheduling policies. A new policy needs a file x_scheduler.cc with a factory, and one
// line in policies.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "scheduler/scheduler.h"

namespace motley {

class BulkSynchronous;

struct SchedulingPolicy {
  const char* name;
  const char* summary;  // One line for --help.
  Result<std::unique_ptr<Scheduler>> (*make)(const SchedulerOptions& options,
                                             RowsToReplace rows_to_replace);
};

// Every policy, in the order of --help.
const std::vector<SchedulingPolicy>& SchedulingPolicies();

// A scheme of the planner (planner/step_schemes.h) that jobs can run, so that `auto` may choose it.
// A new one needs one line in policies.cc.
struct JobScheme {
  const char* scheme;
  const char* code;
  bool whole_vectors;  // The server keeps each worker's vector separate until it is whole.
  bool parts = false;  // Copies that are not needed for stragglers make vectors shorter.
  // The number of workers that may be missing from a step with this many copies.
  uint32_t Tolerates(uint32_t copies) const;
  // The number of parts of a gradient with this many copies (SchedulerOptions::parts).
  uint32_t Parts(uint32_t copies) const { return copies - Tolerates(copies); }
};
const std::vector<JobScheme>& JobSchemes();
const JobScheme* JobSchemeOf(std::string_view scheme);  // Null if no job can run it.

// A code that a job may name.
struct JobCode {
  std::string name;
  std::string summary;  // One line for --help.
  bool coded = true;    // A gradient code, with a form to ask for (coding/gradient_code.h).
};
// "auto", the gradient codes, then "adaptive", in the order of --help.
std::vector<JobCode> JobCodes();

// Makes the policy for `options.code`: "lease" for "adaptive", "auto" for "auto", and "coded" for
// gradient codes.
Result<std::unique_ptr<Scheduler>> MakeScheduler(const SchedulerOptions& options,
                                                 RowsToReplace rows_to_replace);

// Makes a policy from which another one can take over. Not for "auto".
Result<std::unique_ptr<BulkSynchronous>> MakeBulkSynchronous(const SchedulerOptions& options,
                                                             RowsToReplace rows_to_replace);

}  // namespace motley
