// SPDX-License-Identifier: Apache-2.0
#include "coding/heterogeneous_code.h"

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "coding/allocation.h"
#include "coding/cyclic_walk.h"
#include "coding/placement.h"

namespace motley {
namespace {

constexpr int kPermutations = 20;

// Neighbours in the walk get neighbouring nodes, whose joint loss costs the most precision; workers
// with neighbouring numbers often fail together (one rack), so they are put far apart in the walk,
// by the stride coprime to n that is nearest to the golden section.
CyclicWalk MakeWalk(std::span<const uint32_t> loads) {
  const auto n = static_cast<uint32_t>(loads.size());
  auto stride = static_cast<uint32_t>(n * 0.618034);
  while (std::gcd(std::max(stride, 1U), n) != 1) ++stride;
  std::vector<WorkerId> order;
  for (uint64_t q = 0; q < n; ++q) {
    order.push_back(static_cast<WorkerId>(q * std::max(stride, 1U) % n));
  }
  return WalkInOrder(std::move(order), loads);
}

// Each worker at the middle of its stretch of the walk, which goes round the circle once: the
// holders of a partition are k places apart, so their nodes never closer than half of 1 / (s + 1)
// of a turn.
std::vector<Complex> MiddleNodes(const CyclicWalk& walk) {
  const auto total = static_cast<double>(walk.start.back());
  std::vector<Complex> nodes(walk.worker.size());
  for (size_t q = 0; q < nodes.size(); ++q) {
    const auto twice_middle = static_cast<double>(walk.start[q] + walk.start[q + 1]);
    nodes[walk.worker[q]] = OnCircle(twice_middle / (2 * total));
  }
  return nodes;
}

// Those, or evenly spread nodes in the order of the walk or in one of 20 random orders.
std::vector<Complex> BestNodes(const CyclicWalk& walk, std::span<const HeldRun> runs,
                               const CodeRequest& request) {
  std::vector<Complex> best = MiddleNodes(walk);
  double best_score = LargestOnCircle(best, runs) * WorstWeightOnCircle(best, request.stragglers);
  std::vector<Complex> nodes(best.size());
  for (size_t q = 0; q < best.size(); ++q) {
    nodes[walk.worker[q]] = OnCircle(static_cast<double>(q) / static_cast<double>(best.size()));
  }
  const double worst_weight = WorstWeightOnCircle(nodes, request.stragglers);  // In any order.
  for (int draw = 0; draw <= kPermutations; ++draw) {
    const double score = LargestOnCircle(nodes, runs) * worst_weight;
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
  const CyclicWalk walk = MakeWalk(loads);
  const std::vector<HeldRun> runs = HeldRuns(walk, form.partitions, copies);
  SetCircleCode(BestNodes(walk, runs, request), runs, form);
  return form;
}

}  // namespace motley
