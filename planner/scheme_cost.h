// SPDX-License-Identifier: Apache-2.0
// The cost of a scheme's steps on a cluster, by the step model: undisturbed, with stragglers, with
// a loss, and on average. Pure and deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "planner/planned_cluster.h"
#include "planner/step_model.h"
#include "planner/step_schemes.h"

namespace motley {

// The number of steps to try of each kind.
struct CostRuns {
  uint32_t undisturbed = 4;
  uint32_t one_slow = 5;
  uint32_t several_slow = 3;
  uint32_t loss = 4;
  uint64_t seed = 1;
};

struct SchemeCost {
  // Mean seconds of a step.
  double undisturbed = 0;  // Without stragglers; speeds vary by jitter only.
  double one_slow = 0;     // With one straggler; `undisturbed` if stragglers never occur.
  double loss = 0;         // With one worker lost within the step.
  double step = 0;         // Without a loss, weighted by the probability of stragglers.
  // All kinds of steps, weighted by their probability, and the replayed rounds. The more rounds
  // were observed, the more they count.
  double expected = 0;

  double loss_survived = 1;    // Part of the steps with a loss that end without starting over.
  double work = 0;             // Batches that an undisturbed step computes, with copies.
  uint32_t workers = 0;        // Workers that compute something in an undisturbed step.
  double link = 0;             // Part of an undisturbed step in which the server's link is busy.
  std::vector<double> rounds;  // Seconds of each of PlannedCluster::rounds when it is replayed.
  uint64_t events = 0;         // Events of all runs.
};

// `truth` is the true cluster, and *scheme.setting is what the policy believes. Rows that are
// needed after a loss go to workers that are sent their data. If a lost worker had the only copy of
// a leased partition, the step starts over once the loss was noticed and its data were sent to
// another worker.
SchemeCost CostOf(const StepScheme& scheme, const PlannedCluster& truth, const CostRuns& runs);

// Draws the workers of a step without stragglers and losses. Speeds vary by jitter, and by doubt
// about them.
std::vector<ModelWorker> DrawUsual(const PlannedCluster& cluster, Random& random);

// The part of a vector, 0 to 1, that socket buffers hold. It is on its way as soon as it is sent,
// and cannot be taken back.
double SocketPart(const PlannedCluster& cluster);

}  // namespace motley
