// SPDX-License-Identifier: Apache-2.0
// The list of scheduling policies. To add one: a file x_scheduler.cc with a factory, and one line
// in policies.cc.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "scheduler/scheduler.h"

namespace motley {

struct SchedulingPolicy {
  const char* name;
  const char* summary;  // One line for --help.
  Result<std::unique_ptr<Scheduler>> (*make)(const SchedulerOptions& options,
                                             RowsToReplace rows_to_replace);
};

// Every policy, in the order of --help.
const std::vector<SchedulingPolicy>& SchedulingPolicies();

}  // namespace motley
