// SPDX-License-Identifier: Apache-2.0
// Draws of scenarios whose workers have updates of their own.
#pragma once

#include "sim/sim_cluster.h"

namespace motley {

// A twelfth of the scenarios whose jobs can do so get such a mode of the list, with numbers of 0 to
// 6. They learn slowly, because gradients are of older versions. Call it when everything else is
// drawn.
void DropTheBarrier(SimOptions& options);
// A twelfth of the others get rounds of 1 to 6 own steps per worker. Call it after DropTheBarrier.
void TakeLocalSteps(SimOptions& options);

}  // namespace motley
