// SPDX-License-Identifier: Apache-2.0
// Evens out the times at which workers will be done, by moving partitions to other holders. Pure.
#pragma once

#include <vector>

#include "base/ids.h"
#include "scheduler/step/step_policy.h"

namespace motley {

// A worker as predicted, in seconds since the beginning of the step.
struct BalanceWorker {
  double finish = 0;                 // When its present work is done.
  double seconds = 1;                // Per partition, > 0.
  double before = 0;                 // How long before the end of the step it must be done.
  bool takes = true;                 // It may get more.
  std::vector<PartitionId> movable;  // Partitions that may be taken from it, in its order.
};

struct BalanceMove {
  PartitionId partition;
  WorkerId from, to;
};

// Takes partitions one at a time from the worker that would be done last. Each goes to the holder
// that would have it done first, as long as both are then done before the giver was. This repeats
// with the next worker, until nobody can be helped. A worker full of partitions that only it and a
// late worker hold first passes on others, so that load flows along chains of holders, as in
// diffusive load balancing (Cybenko, JPDC 1989). Each partition is in the result once. `workers` is
// changed accordingly.
std::vector<BalanceMove> Balance(std::vector<BalanceWorker>& workers,
                                 const std::vector<std::vector<WorkerId>>& holders);

}  // namespace motley
