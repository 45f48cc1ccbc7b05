// SPDX-License-Identifier: Apache-2.0
// Runs a job on a cluster of the grid in the full simulator: the real server, workers, scheduler
// and decoder on virtual time, without arithmetic (docs/explanation/simulator.md).
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

// How many steps of a job are simulated; the job expects to run as many as its case says.
struct SimulatedSteps {
  uint32_t skipped = 60;  // First steps, in which speeds and links are learned.
  uint32_t counted = 240;
};

struct SimulatedJob {
  double first = 0;     // Seconds of the first step, which includes sending data.
  double learning = 0;  // Seconds of all skipped steps.
  double step = 0;      // Mean seconds of the counted steps.
  // Mean of counted steps without data transfers in the way. For `auto`: under its last choice.
  double settled = 0;
  uint32_t settled_steps = 0;       // Number of steps in `settled`.
  double trying = 0;                // Extra cost of the other steps in the later half.
  std::vector<CodeChoice> choices;  // Choices of `auto`.
  bool undecided = false;           // A trial is in progress at the end.
};

// Simulates a job from a cold start on the true figures. Stragglers and losses are the same, at the
// same steps, for every code of a case and seed. Sending all samples occupies the server's link for
// data_seconds. kInternal: an invariant of the simulator broke.
Result<SimulatedJob> RunOnTruth(const PlannerCase& made, const SimulatedJobCode& what,
                                const SimulatedSteps& steps, uint64_t seed);

}  // namespace motley
