// SPDX-License-Identifier: Apache-2.0
// A grid of made-up clusters, and what their profiles say of them, for judging the planner.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/planned_cluster.h"
#include "runtime/fault_plan.h"

namespace motley {

struct PlannerCase {
  PlannedCluster truth;
  PlannedCluster profile;  // Every figure wrong by up to `kProfileError`, each by itself.
  // What it was made from.
  double spread = 1;  // Fastest over slowest.
  double latency_seconds = 0;
  double step_seconds = 0;  // Perfectly divided, of computing.
  double gradient_bytes = 0;
  double message_seconds = 0;
  // Of a transient case, whose whole job is judged: what goes wrong in each of its steps.
  std::vector<Fault> faults;
  bool whole_job = false;
};

inline constexpr double kProfileError = 0.2;

// Case number `index` of a seed: 4 to 32 workers whose speeds lie up to 20 times apart, latencies
// from 0.05 to 100 ms, steps from 5 ms to 5 s, gradients from 10 kB to 1 GB, stragglers and losses
// from never to often; all log-uniform and independent.
PlannerCase MakePlannerCase(uint64_t seed, uint64_t index);

// The same for jobs of `steps` steps on clusters whose trouble comes and goes: thick links, data
// that are sent soon, single steps in which a worker is slow, pauses, kills with restarts, and
// phases of 8 to 25 steps in which a part of the workers is slow together.
PlannerCase MakeTransientCase(uint64_t seed, uint64_t index, uint32_t steps);

}  // namespace motley
