// SPDX-License-Identifier: Apache-2.0
// Draws of how the updates of a scenario's job are synchronised.
#pragma once

#include <string_view>

#include "sim/sim_cluster.h"

namespace motley {

// The word before the numbers: "ssp" of "ssp:S".
std::string_view NameOf(const SyncForm& form);
// The entry of SyncForms() with this name; null: there is none.
const SyncForm* FindSyncForm(std::string_view name);

// With `forced`: the job gets this mode, whatever else was drawn for it. Numbers of the mode are
// drawn. Checkpoints, lies, recorded times and data on their way do not go with all modes, so leave
// them out before. Without: a twelfth of the scenarios whose jobs can do so has updates of each
// worker's own, and a twelfth of the others has rounds of local steps. Call it when everything else
// is drawn.
void DrawSync(SimOptions& options, const SyncForm* forced);
// In a tenth of all scenarios, rates follow the samples of updates. Call it after DrawSync.
void FollowBatches(SimOptions& options);

}  // namespace motley
