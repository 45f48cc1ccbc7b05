// SPDX-License-Identifier: Apache-2.0
// `motley simulate` runs a job with its real policies in virtual time on a described cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/job_flags.h"
#include "cli/report/compare.h"

namespace motley {

struct SimulateFlags {
  // `motley plan` has the same optimizer.
  JobFlags job{.optimizer = "adam", .reduce = "star"};
  std::string cluster;  // Profile file; empty: --worker-speeds.
  std::string replay;   // Recorded times; empty: none.
  struct Given {
    bool batch = false;
    bool steps = false;  // Steps or epochs.
    bool seeds = false;
  } given;
  uint32_t seeds = 1;
  std::string compare;                    // Codes; empty: --code alone.
  std::string plot;                       // SVG file; empty: none.
  std::string timeline;                   // SVG file; empty: none.
  std::optional<uint64_t> timeline_step;  // Empty: the slowest step.
};

// Runs all codes on the same cluster, seeds and faults. Does not read `flags.compare`.
Result<Comparison> CompareCodes(const SimulateFlags& flags, const std::vector<ComparedCode>& codes);

// Returns the exit code.
int RunSimulate(const SimulateFlags& flags);

}  // namespace motley
