// SPDX-License-Identifier: Apache-2.0
// Judges the planner in the whole simulator: the real server, workers, scheduler and decoder on
// virtual time, without arithmetic (docs/simulator.md), on a cluster of the grid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "benchmarks/planner_cases.h"
#include "scheduler/planner.h"

namespace motley {

// `--code` of the jobs that run this scheme of the planner's; nothing: none do.
std::optional<std::string> JobCodeOf(const Candidate& candidate);

// How many steps a scheme runs.
struct SimulatedSteps {
  uint32_t skipped = 60;  // At first, while speeds and links are learned.
  uint32_t counted = 240;
};

// Mean seconds per step after the first ones, with the stragglers and losses that the truth has:
// the same ones at the same steps for every scheme of a case and seed. kInternal when an invariant
// of the simulator broke.
Result<double> SimulatedSeconds(const PlannerCase& made, const Candidate& candidate,
                                const SimulatedSteps& steps, uint64_t seed);

struct JudgedCase {
  std::string chosen, best;    // "adaptive 2"
  double chosen_seconds = 0;   // Per step, with what it took to change to it from no copies.
  double best_seconds = 0;     // Of the fixed scheme that turned out best, with placing its copies.
  double uncoded_seconds = 0;  // Of proportional shares.
  double Excess() const { return chosen_seconds / best_seconds - 1; }
};

// Plans on the profile, and runs whatever a job could have run on the truth instead: everything for
// few steps, what was within a third of the best there for all of `steps`.
Result<JudgedCase> JudgePlanner(const PlannerCase& made, const SimulatedSteps& steps,
                                uint64_t seed);

}  // namespace motley
