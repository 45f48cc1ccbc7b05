// SPDX-License-Identifier: Apache-2.0
// With leases, which worker computes a partition first, and which workers hold copies. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "scheduler/placement/load_balance.h"
#include "scheduler/scheduler.h"
#include "scheduler/step/step_policy.h"

namespace motley {

struct LeasePlan {
  Placement placement;            // Wanted; the copies that exist follow.
  std::vector<uint32_t> primary;  // By worker: the number of partitions that it computes first.
  uint32_t copies = 0;            // Copies of each partition; 0: there is no plan.
  double step_seconds = 0;  // Predicted for the time when all copies are where they are wanted.
  uint32_t moves = 0;       // Copies to be sent that the previous plan did not want.
  std::optional<Compromise> compromise;
};

// The request to share work among `members` (not empty, in index order) by `speeds` (> 0, one
// each).
ShareRequest RequestFor(const SchedulerOptions& options, const std::vector<WorkerId>& members,
                        const std::vector<double>& speeds);

// A plan with as many copies as were asked for, or one per member if there are fewer members. It
// moves as few copies as possible from `old`, the placement that is wanted or there (without
// partitions: nothing is).
Result<LeasePlan> MakeLeasePlan(const SchedulerOptions& options, const ShareRequest& request,
                                const Placement& old);

// By partition: its holders.
using Holders = std::vector<std::vector<WorkerId>>;
// The time of a step in which the first present holder of each partition computes it. Infinite if a
// partition has no holder.
double UnaidedSeconds(const Holders& holders, const ShareRequest& request);
// The same if holders help each other as well as they can from the beginning. Never longer.
double EvenedSeconds(const Holders& holders, const ShareRequest& request);

}  // namespace motley
