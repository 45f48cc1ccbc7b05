// SPDX-License-Identifier: Apache-2.0
// Scenarios whose data take far longer to be sent than a step takes, so that a worker that comes
// back waits for its own while the others go on.
#pragma once

#include "data/dataset.h"
#include "sim/sim_cluster.h"

namespace motley {

// What an undisturbed step of the job is like.
struct UsualStep {
  double seconds = 0;
  uint32_t copies = 1;  // Of each partition.
};

// In one of eight scenarios whose samples are sent to workers of which some come back: what one
// worker is sent then takes as long as 2 to 20 steps, workers come back more often, and the job has
// the steps to see it. In half of these nothing else goes wrong. Draws from a stream of its own;
// the other scenarios stay as they are.
void LengthenData(SimOptions& options, const Dataset& data, UsualStep step);

}  // namespace motley
