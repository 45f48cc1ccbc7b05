// SPDX-License-Identifier: Apache-2.0
// Runs seeds in several processes, so that the crash of one seed is reported and the rest go on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/seed_run.h"

namespace motley {

struct SeedRange {
  uint64_t first = 1;
  uint64_t count = 1;
  uint32_t jobs = 1;               // Processes at once; >= 1.
  const SyncForm* sync = nullptr;  // The mode of every scenario; null: it is drawn.
};

// Calls `report` for every seed of the range, in the order in which seeds end. If a process dies,
// its seed is reported as failed, and a new process continues after that seed. kResource if no
// process can be made.
Status RunSeeds(const SeedRange& range, const std::function<void(const SeedReport&)>& report);

}  // namespace motley
