// SPDX-License-Identifier: Apache-2.0
// What steps of a scheme cost on a cluster, by the step model: undisturbed, with stragglers, with a
// loss, and on average. Pure and deterministic.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "planner/planned_cluster.h"
#include "planner/step_model.h"
#include "planner/step_schemes.h"

namespace motley {

// Steps that are tried of each kind.
struct CostRuns {
  uint32_t undisturbed = 4;
  uint32_t one_slow = 5;
  uint32_t several_slow = 3;
  uint32_t loss = 4;
  uint64_t seed = 1;
};

struct SchemeCost {
  double undisturbed = 0;  // Seconds, of a step of which nobody is slow but for jitter.
  double one_slow = 0;     // With one straggler; as undisturbed where there never is any.
  double loss = 0;         // With one worker lost within the step.
  double step = 0;         // Of a step in which none is lost, on average.
  // Weighted by how probable each is; and with what the rounds that were seen take, the more of
  // them there are.
  double expected = 0;
  double loss_survived = 1;    // Part of such steps that end without starting over.
  double work = 0;             // Of an undisturbed step: computed, in whole batches;
  uint32_t workers = 0;        // those that compute something;
  double link = 0;             // part of its time that the server's link is busy.
  std::vector<double> rounds;  // Seconds of each of PlannedCluster::rounds, replayed.
  uint64_t events = 0;         // Of all runs.
};

// `truth` is what the cluster truly is; *scheme.setting says what the policy believes. Where a lost
// worker had the only copy of something the step starts over, after the loss was noticed and that
// part of the data was sent to somebody else.
SchemeCost CostOf(const StepScheme& scheme, const PlannedCluster& truth, const CostRuns& runs);

// Workers in a step in which nothing goes wrong but for jitter, and doubt about speeds.
std::vector<ModelWorker> DrawUsual(const PlannedCluster& cluster, Random& random);

// Of a vector, what is on its way as soon as it is sent, whatever becomes of it then: 0 to 1.
double SocketPart(const PlannedCluster& cluster);

}  // namespace motley
