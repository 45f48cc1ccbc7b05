// SPDX-License-Identifier: Apache-2.0
// Scenarios with a worker that sends wrong answers that look right.
#pragma once

#include "sim/sim_cluster.h"

namespace motley {

// In an eighth of the scenarios with a built-in model, the answers of one worker are wrong from
// some step on. Each step is audited. In half of these scenarios an audit takes about a twentieth
// of `step_seconds`, the time of an undisturbed step; in the others it takes none. Draws have their
// own stream, so other scenarios do not change.
void AddLiar(SimOptions& options, double step_seconds);

bool SomebodyLies(const SimOptions& options);

}  // namespace motley
