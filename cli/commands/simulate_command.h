// SPDX-License-Identifier: Apache-2.0
// `motley simulate`: the same job and policies on virtual time, for a described cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/job_flags.h"
#include "cli/report/compare.h"

namespace motley {

struct SimulateFlags {
  JobFlags job;
  std::string cluster;  // Profile file; empty: --worker-speeds.
  std::string replay;   // Recorded times; empty: none.
  struct Given {
    bool batch = false;
    bool steps = false;  // Or epochs.
    bool seeds = false;
  } given;
  uint32_t seeds = 1;
  std::string compare;                    // Codes; empty: --code alone.
  std::string plot;                       // SVG file; empty: none.
  std::string timeline;                   // SVG file; empty: none.
  std::optional<uint64_t> timeline_step;  // None: the one that took longest.
};

// Every code meets the same cluster, seeds and faults. `flags.compare` is not read.
Result<Comparison> CompareCodes(const SimulateFlags& flags, const std::vector<ComparedCode>& codes);

// The exit code.
int RunSimulate(const SimulateFlags& flags);

}  // namespace motley
