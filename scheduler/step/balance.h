// SPDX-License-Identifier: Apache-2.0
// Evens out who will be done when, by moving partitions to others that hold copies. Pure.
#pragma once

#include <vector>

#include "base/ids.h"
#include "scheduler/step/step_policy.h"

namespace motley {

// A worker as predicted, in seconds since the beginning of the step.
struct BalanceWorker {
  double finish = 0;                 // Of what it has.
  double seconds = 1;                // Per partition, > 0.
  double before = 0;                 // How long before the end of the step it must be done.
  bool takes = true;                 // More may be given to it.
  std::vector<PartitionId> movable;  // What may be taken from it, in its order.
};

struct BalanceMove {
  PartitionId partition;
  WorkerId from, to;
};

// Takes partitions one at a time from whoever would be done last and gives each to the holder that
// would have it done first, as long as both are done before the former was; then goes on with the
// next, until nobody can be helped. A worker full of what only it and a late one hold first passes
// on something else, so that load flows along chains of holders, as in diffusive load balancing
// (Cybenko, JPDC 1989). Each partition is in the result once. `workers` is changed accordingly.
std::vector<BalanceMove> Balance(std::vector<BalanceWorker>& workers,
                                 const std::vector<std::vector<WorkerId>>& holders);

}  // namespace motley
