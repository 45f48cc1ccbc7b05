// SPDX-License-Identifier: Apache-2.0
// Runs the scenario of a seed and judges it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/sync/sync_mode.h"

namespace motley {

// The outcome of a scenario that ran twice.
struct SeedReport {
  uint64_t seed = 0;
  uint64_t digest = 0;
  uint64_t tasks_run = 0;
  double virtual_seconds = 0;
  std::vector<std::string> violations;  // Broken invariants; empty when all is well.
  std::map<std::string, uint64_t> reached;
};

// Runs the scenario of `seed`, with the mode `sync` if there is one, twice and compares the
// digests.
SeedReport RunSeed(uint64_t seed, const SyncForm* sync = nullptr);

}  // namespace motley
