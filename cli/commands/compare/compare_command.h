// SPDX-License-Identifier: Apache-2.0
// `motley compare` trains one model with several modes of synchronisation, each in virtual time on
// described clusters, and compares the times to a target.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/job_flags.h"

namespace motley {

struct CompareFlags {
  JobFlags job{.reduce = "star"};  // `job.sync` is not read. The batch and the epochs are given.
  std::string data;                // As for motley train.
  std::string label;
  std::string task;                   // "classify"; empty: not given.
  std::vector<std::string> clusters;  // Profile files; empty: the speeds of `job`.
  std::string sync;                   // Modes, like "bsp,ssp:2".
  bool sync_given = false;            // False: the optimizer may leave some of them out.
  std::string rates;                  // Learning rates to try; empty: the one of `job`.
  double accuracy = 0;                // The target; 0: not given.
  double loss = 0;                    // The target; 0: not given.
  std::string evaluate_every = "";    // "1epoch"; empty: four times in an epoch.
  uint32_t seeds = 3;
  std::string plot;  // SVG file; empty: none.
};

// Returns the exit code.
int RunCompare(const CompareFlags& flags);

}  // namespace motley
