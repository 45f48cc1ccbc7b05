// SPDX-License-Identifier: Apache-2.0
// A grid of random clusters with their (inexact) profiles, for judging the planner.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/planned_cluster.h"
#include "runtime/fault_plan.h"

namespace motley {

struct PlannerCase {
  PlannedCluster truth;
  PlannedCluster profile;  // Every figure is wrong by up to `kProfileError`, independently.
  // Parameters of the true cluster.
  double spread = 1;  // Fastest over slowest speed.
  double latency_seconds = 0;
  double step_seconds = 0;  // Computing time of a step, if divided perfectly.
  double gradient_bytes = 0;
  double message_seconds = 0;
  // The faults in each step of a transient case, whose entire job is judged.
  std::vector<Fault> faults;
  bool whole_job = false;
};

inline constexpr double kProfileError = 0.2;

// Case number `index` of a seed: 4 to 32 workers whose speeds differ by up to 20 times, latencies
// from 0.05 to 100 ms, steps from 5 ms to 5 s, gradients from 10 kB to 1 GB, stragglers and losses
// from never to often. All figures are log-uniform and independent.
PlannerCase MakePlannerCase(uint64_t seed, uint64_t index);

// A case of jobs with `steps` steps on clusters with transient trouble: fast links, data that are
// sent quickly, single slow steps, pauses, kills with restarts, and phases of 8 to 25 steps in
// which some workers are slow together.
PlannerCase MakeTransientCase(uint64_t seed, uint64_t index, uint32_t steps);

}  // namespace motley
