// SPDX-License-Identifier: Apache-2.0
// A job on a cluster of the grid in the whole simulator: the real server, workers, scheduler and
// decoder on virtual time, without arithmetic (docs/explanation/simulator.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "benchmarks/planner/planner_cases.h"
#include "planner/planner.h"
#include "scheduler/scheduler_stats.h"
#include "sim/simulated_scheme.h"

namespace motley {

// How much is seen of a job, which means to run as many steps as its case says.
struct SimulatedSteps {
  uint32_t skipped = 60;  // At first, while speeds and links are learned.
  uint32_t counted = 240;
};

struct SimulatedJob {
  double first = 0;                 // Seconds of the first step, for which data are sent,
  double learning = 0;              // and of all steps that were skipped.
  double step = 0;                  // Mean seconds of the others,
  double settled = 0;               // of those of them that the code, of `auto` the last that it
                                    // chose, worked off undisturbed by data that are sent once,
  uint32_t settled_steps = 0;       // so many,
  double trying = 0;                // and what those of the later half took beyond that.
  std::vector<CodeChoice> choices;  // Of `auto`.
  bool undecided = false;           // A trial goes on at the end.
};

// From a cold start on the truth, with its stragglers and losses: the same ones at the same steps
// for every code of a case and seed. All samples together take the server's link data_seconds.
// kInternal when an invariant of the simulator broke.
Result<SimulatedJob> RunOnTruth(const PlannerCase& made, const SimulatedJobCode& what,
                                const SimulatedSteps& steps, uint64_t seed);

}  // namespace motley
