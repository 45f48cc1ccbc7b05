// SPDX-License-Identifier: Apache-2.0
// Runs seeds in several processes, so that a crash of one seed is a finding and not the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/scenario.h"

namespace motley {

struct SeedRange {
  uint64_t first = 1;
  uint64_t count = 1;
  uint32_t jobs = 1;  // Processes at once; >= 1.
};

// Calls `report` for every seed of the range, in the order they end. A process that dies reports
// the seed it was at, and another one goes on behind it. kResource when no process can be made.
Status RunSeeds(const SeedRange& range, const std::function<void(const SeedReport&)>& report);

}  // namespace motley
