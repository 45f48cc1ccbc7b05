// SPDX-License-Identifier: Apache-2.0
// Scenarios in which a worker sends wrong answers that look like right ones.
#pragma once

#include "sim/sim_cluster.h"

namespace motley {

// In an eighth of the scenarios with a built-in model, the answers of one worker are wrong from
// some step on. Each step is audited, in half of them on a device that needs about a twentieth of a
// step
// (`step_seconds`, undisturbed) for it. Draws from a stream of its own; the other scenarios stay as
// they are.
void AddLiar(SimOptions& options, double step_seconds);

bool SomebodyLies(const SimOptions& options);

}  // namespace motley
