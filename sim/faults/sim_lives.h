// SPDX-License-Identifier: Apache-2.0
// A cluster that loses its power several times and resumes from its checkpoints.
#pragma once

#include <functional>
#include <memory>

#include "base/status.h"
#include "data/dataset.h"
#include "runtime/job_event.h"
#include "sim/sim_cluster.h"
#include "sim/world/sim_store.h"

namespace motley {

// One run, from power on to the end of the job or the next power cut.
struct Life {
  SimStore* store = nullptr;     // Holds the server's checkpoints; null: it has no disk.
  double power_off_seconds = 0;  // The time of the cut unless the store's is earlier; 0: none.
  // If set, only the server's process dies at that time, once. A new process resumes from what this
  // returns (null: from the beginning).
  std::function<std::shared_ptr<const SavedJob>()> revive;
};

// Runs one incarnation, with the errors of Simulate. Ignores `options.power_cuts`.
Result<SimResult> SimulateLife(const SimOptions& options, const Dataset& data,
                               JobObserver* observer, const Life& life);

// Runs all incarnations of `options.power_cuts`. I5: each starts at the newest acknowledged
// checkpoint or a newer one, with parameters that the job once had at that step.
Result<SimResult> SimulateLives(const SimOptions& options, const Dataset& data,
                                JobObserver* observer);

}  // namespace motley
