// SPDX-License-Identifier: Apache-2.0
// Scenarios whose workers are not all there from the start to the end.
#pragma once

#include "sim/sim_cluster.h"

namespace motley {

// In a sixth of the scenarios some workers start later, so that the job begins without them and
// takes them in. In half of these workers also take their leave, and half of those return.
void LetComeAndGo(SimOptions& options, double job_seconds);

}  // namespace motley
