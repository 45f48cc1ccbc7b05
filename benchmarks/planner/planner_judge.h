// SPDX-License-Identifier: Apache-2.0
// Judges a choice for a cluster of the grid against every fixed scheme. All run in the full
// simulator from a cold start (planner_runs.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "benchmarks/planner/planner_runs.h"

namespace motley {

enum class JudgeWhat {
  kPlanner,  // The scheme that `motley plan` chooses, given the profile.
  kAuto,     // A job with --code auto, which knows nothing at first.
};

// A scheme that jobs can run. Seconds per step include sending its copies and other data, and what
// it lost while learning, spread over the job's steps.
struct JudgedScheme {
  std::string name;     // "adaptive 2"
  double profiled = 0;  // Prediction from the profile.
  double foreseen = 0;  // Prediction from the true figures.
  double seconds = 0;   // Result of the simulator.
  bool brief = false;   // Few steps were run, because it was far from the best.
};

struct JudgedCase {
  std::string chosen, best;
  std::string planned,
      first;                   // What `motley plan` names from the profile, or a job chose first.
  double chosen_seconds = 0;   // Per step, including the cost of changing to it.
  double best_seconds = 0;     // Time of the best fixed scheme.
  double uncoded_seconds = 0;  // Time of proportional shares.
  // Best of all that were run, including what users cannot select: rows of fewer workers.
  double least_seconds = 0;
  std::vector<JudgedScheme> schemes;  // All that were run, best first.
  std::vector<CodeChoice> choices;    // Choices of kAuto.
  double Excess() const { return chosen_seconds / best_seconds - 1; }
  double ExcessOverAll() const { return chosen_seconds / least_seconds - 1; }
};

// Runs every scheme for few steps, then those within a third of the best for all of `steps`, and
// then the choice to be judged. If a job with --code auto must run longer before its result is
// known, the others run as long.
Result<JudgedCase> JudgeCase(const PlannerCase& made, JudgeWhat what, SimulatedSteps steps,
                             uint64_t seed);

}  // namespace motley
