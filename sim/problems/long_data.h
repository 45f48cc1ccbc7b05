// SPDX-License-Identifier: Apache-2.0
// Scenarios in which sending data takes far longer than a step. A worker that comes back then waits
// for its data while the others go on.
#pragma once

#include "data/dataset.h"
#include "sim/sim_cluster.h"

namespace motley {

// A step of the job without faults.
struct UsualStep {
  double seconds = 0;
  uint32_t copies = 1;  // Copies of each partition.
};

// Applies to one of eight scenarios that send samples to workers and restart workers. Sending one
// worker's data then takes as long as 2 to 20 steps, all killed workers come back, and the job has
// more steps. In half of these scenarios nothing else goes wrong. Draws have their own stream, so
// other scenarios do not change.
void LengthenData(SimOptions& options, const Dataset& data, UsualStep step);

}  // namespace motley
