// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/heterogeneous_code.h"

#include <utility>

#include "base/random.h"
#include "coding/placement/allocation.h"
#include "coding/placement/cyclic_walk.h"
#include "coding/placement/placement.h"

namespace motley {
namespace {

constexpr int kPermutations = 20;

// The best of the middle nodes and of evenly spread nodes, in the order of the walk or in 20 random
// orders.
std::vector<Complex> BestNodes(const CyclicWalk& walk, std::span<const HeldRun> runs,
                               const CodeRequest& request) {
  std::vector<Complex> best = MiddleNodes(walk);
  double best_score =
      LogLargestOnCircle(best, runs) + LogWorstWeightOnCircle(best, request.stragglers);
  std::vector<Complex> nodes(best.size());
  for (size_t q = 0; q < best.size(); ++q) {
    nodes[walk.worker[q]] = OnCircle(static_cast<double>(q) / static_cast<double>(best.size()));
  }
  // The worst weight is the same in any order.
  const double worst_weight = LogWorstWeightOnCircle(nodes, request.stragglers);
  for (int draw = 0; draw <= kPermutations; ++draw) {
    const double score = LogLargestOnCircle(nodes, runs) + worst_weight;
    if (score < best_score) {
      best_score = score;
      best = nodes;
    }
    Random(request.seed, Stream::kCode, draw).Shuffle(std::span(nodes));
  }
  return best;
}

}  // namespace

Result<CodeForm> BuildHeterogeneousCode(const CodeRequest& request) {
  CodeForm form = EmptyForm("heterogeneous", request);
  const uint32_t copies = form.stragglers + 1;
  const auto loads = Allocate(request.speeds, uint64_t{form.partitions} * copies, form.partitions);
  const CyclicWalk walk = WalkInOrder(SpreadOrder(form.workers), loads);
  if (request.draft) return DraftOf(walk, std::move(form));
  const std::vector<HeldRun> runs = HeldRuns(walk, form.partitions, copies);
  SetCircleCode(BestNodes(walk, runs, request), runs, form);
  return form;
}

}  // namespace motley
