// SPDX-License-Identifier: Apache-2.0
// Judges what is chosen for a cluster of the grid against every fixed scheme, all of them run in
// the whole simulator from a cold start (planner_runs.h).
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

// One that jobs can run. Seconds per step, with what sending its copies and all that it moves takes
// and what it lost while it learned, spread over the steps that the job has.
struct JudgedScheme {
  std::string name;     // "adaptive 2"
  double profiled = 0;  // As the planner predicts it from the profile,
  double foreseen = 0;  // and from the truth, were it known;
  double seconds = 0;   // and what the simulator says.
  bool brief = false;   // Of few steps: it was far from the best.
};

struct JudgedCase {
  std::string chosen, best;
  std::string planned,
      first;                  // What `motley plan` names, given the profile, and a job chose first.
  double chosen_seconds = 0;  // Per step, with what it took to change to it.
  double best_seconds = 0;    // Of the fixed scheme that turned out best.
  double uncoded_seconds = 0;  // Of proportional shares.
  // Of all that were run, also what nobody can fix: rows of fewer workers than there are.
  double least_seconds = 0;
  std::vector<JudgedScheme> schemes;  // All that were run, the best first.
  std::vector<CodeChoice> choices;    // Of kAuto.
  double Excess() const { return chosen_seconds / best_seconds - 1; }
  double ExcessOverAll() const { return chosen_seconds / least_seconds - 1; }
};

// Runs whatever a job could run: everything for few steps, what was within a third of the best
// there for all of `steps`, and so what is judged. Where a job with --code auto has to be seen for
// longer before what comes of it can be said, so are the others.
Result<JudgedCase> JudgeCase(const PlannerCase& made, JudgeWhat what, SimulatedSteps steps,
                             uint64_t seed);

}  // namespace motley
