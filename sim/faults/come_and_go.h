// SPDX-License-Identifier: Apache-2.0
// Scenarios with workers that join late or leave early.
#pragma once

#include "sim/sim_cluster.h"

namespace motley {

// In a sixth of the scenarios some workers start later, so that the job begins without them and
// takes them in. In half of these scenarios workers also leave, and half of the leavers return.
void LetComeAndGo(SimOptions& options, double job_seconds);

}  // namespace motley
