// SPDX-License-Identifier: Apache-2.0
// Who computes what first, and who holds copies, when steps are worked off by leases. Pure.
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
  Placement placement;            // Wanted; what is there follows.
  std::vector<uint32_t> primary;  // By worker: partitions that it is the first to compute.
  uint32_t copies = 0;            // Of each partition; 0: there is no plan.
  double step_seconds = 0;        // Predicted, if all copies are where they are wanted.
  uint32_t moves = 0;             // Copies to be sent that a plan before it did not want.
  std::optional<Compromise> compromise;
};

// Speeds of `members` (not empty, in index order; > 0, one each), as work to share.
ShareRequest RequestFor(const SchedulerOptions& options, const std::vector<WorkerId>& members,
                        const std::vector<double>& speeds);

// A plan with as many copies as were asked for, or members to hold them. From `old`, where copies
// are wanted or there (no partitions: nowhere), as little as can be moves.
Result<LeasePlan> MakeLeasePlan(const SchedulerOptions& options, const ShareRequest& request,
                                const Placement& old);

// By partition, who holds it.
using Holders = std::vector<std::vector<WorkerId>>;
// How long a step takes if the first holder of each partition that is there computes it; infinite
// when one has none.
double UnaidedSeconds(const Holders& holders, const ShareRequest& request);
// The same if holders help each other as well as they can from the beginning: never longer.
double EvenedSeconds(const Holders& holders, const ShareRequest& request);

}  // namespace motley
