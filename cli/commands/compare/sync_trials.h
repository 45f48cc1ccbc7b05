// SPDX-License-Identifier: Apache-2.0
// Runs the trials of `motley compare`: real training of one model, in virtual time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/commands/simulate_command.h"
#include "cli/report/sync_report.h"
#include "data/data_source.h"
#include "data/dataset.h"

namespace motley {

struct TrialsRequest {
  SimulateFlags flags;  // Its cluster, mode and learning rate are replaced by those below.
  std::vector<std::string> clusters;  // Profile files; "": the speeds of `flags`.
  std::vector<std::string> modes;
  std::vector<std::string> stale_modes;  // Those that have the staleness of `flags`.
  std::vector<double> rates;
  uint32_t seeds = 1;
  // Updates, or else epochs, between two evaluations; both 0: a quarter of an epoch.
  uint64_t evaluate_steps = 0;
  uint32_t evaluate_epochs = 0;
  Dataset train;
  std::shared_ptr<const DataSource> test;  // Versions are evaluated on these samples.
};

// Returns a trial for each cluster, mode and rate, in this order. Shows progress.
// kInvalidArgument: one of them cannot run such a job. All are checked before the first one runs.
Result<std::vector<SyncTrial>> RunTrials(const TrialsRequest& request);

}  // namespace motley
