// SPDX-License-Identifier: Apache-2.0
// A scheme of the planner's as a job in the whole simulator, without arithmetic: what the real
// server, workers and scheduler make of it on a described cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "profiles/profile.h"
#include "scheduler/planner.h"

namespace motley {

// In which a job learns speeds and links, and moves data to where they are needed. What steps take
// is said of those after.
inline constexpr uint32_t kLearningSteps = 60;

struct SimulatedJobCode {
  std::string code;
  uint32_t tolerate = 0;
  uint32_t parts = 2;
  uint32_t workers = 0;  // That take part; 0: all.
};
// Of the job that runs this scheme; nothing: none does.
std::optional<SimulatedJobCode> SimulatedCodeOf(const Candidate& candidate);

struct SimulatedScheme {
  double step_seconds = 0;   // Mean, of the steps after kLearningSteps of all seeds;
  double p99_seconds = 0;    // of the same.
  double low = 0, high = 0;  // Means of single seeds, the least and the most.
  double workers = 0;        // That compute something at the end, on average,
  double work = 0;           // and computed, in whole batches, per step.

  // Where vectors crowd a thin link, chance decides who answers first and is given work from then
  // on. Then one run says little of the next.
  bool steady() const { return high <= kSteadyTimes * low; }
  static constexpr double kSteadyTimes = 1.08;
};

struct SimulatedRuns {
  uint32_t steps = 80;  // That count, of each.
  uint32_t seeds = 5;
  uint64_t first_seed = 1;
};

// `samples`: of a step. kInvalidArgument where such a job cannot be.
Result<SimulatedScheme> SimulateScheme(const ClusterProfile& cluster, uint32_t samples,
                                       const SimulatedJobCode& code, const SimulatedRuns& runs);

// A ranking in which every scheme that a job can run takes as long as the simulator says.
struct SimulatedPlan {
  Ranking ranking;
  std::vector<std::pair<Candidate, SimulatedScheme>> seen;

  const SimulatedScheme* Seen(const Candidate& candidate) const;  // Null: it was not simulated.
};
// `ranking` is that of `planned`, which ClusterOf makes of `cluster`.
Result<SimulatedPlan> SimulateRanking(Ranking ranking, const PlannedCluster& planned,
                                      const ClusterProfile& cluster, const SimulatedRuns& runs);

}  // namespace motley
