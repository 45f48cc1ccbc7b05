// SPDX-License-Identifier: Apache-2.0
// A cluster that loses its power, several times, and goes on from its checkpoints.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "data/dataset.h"
#include "runtime/job_event.h"
#include "sim/sim_cluster.h"
#include "sim/world/sim_store.h"

namespace motley {

// One run from power on to the end of the job or of the power.
struct Life {
  SimStore* store = nullptr;     // Of the server's checkpoints; null: it has no disk.
  double power_off_seconds = 0;  // The power goes then, or with the store's; 0: it stays.
  // Set: the server's process alone dies then, once, and another goes on from what this returns
  // (null: from the beginning).
  std::function<std::shared_ptr<const SavedJob>()> revive;
};

// Errors as of Simulate. `options.power_cuts` is not looked at.
Result<SimResult> SimulateLife(const SimOptions& options, const Dataset& data,
                               JobObserver* observer, const Life& life);

// All lives of `options.power_cuts`. I5: each begins at the newest acknowledged checkpoint or a
// newer one, with parameters that the job once had at that very step.
Result<SimResult> SimulateLives(const SimOptions& options, const Dataset& data,
                                JobObserver* observer);

}  // namespace motley
