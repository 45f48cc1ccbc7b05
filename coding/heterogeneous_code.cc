// SPDX-License-Identifier: Apache-2.0
#include "coding/heterogeneous_code.h"

#include <algorithm>

#include "base/random.h"
#include "coding/allocation.h"
#include "coding/placement.h"
#include "coding/unit_circle.h"

namespace motley {
namespace {

constexpr int kPermutations = 20;

// The walk over all k (s + 1) places: worker i has places [start[i], start[i + 1]), and place p is
// partition p mod k. Partitions between two starts (mod k) have the same holders.
std::vector<HeldRun> HeldRuns(const std::vector<uint64_t>& start, uint32_t partitions,
                              uint32_t copies) {
  std::vector<PartitionId> cuts{0, partitions};
  for (uint64_t place : start) cuts.push_back(static_cast<PartitionId>(place % partitions));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<HeldRun> runs;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    HeldRun run{cuts[i], cuts[i + 1], {}};
    for (uint32_t t = 0; t < copies; ++t) {
      const uint64_t place = cuts[i] + uint64_t{t} * partitions;
      const auto after = std::upper_bound(start.begin(), start.end(), place);
      run.holders.push_back(static_cast<WorkerId>(after - start.begin() - 1));
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

// Each worker at the middle of its stretch of the walk, which goes round the circle once: the
// holders of a partition are k places apart, so never closer than half of 1 / (s + 1) of a turn.
std::vector<Complex> MiddleNodes(const std::vector<uint64_t>& start) {
  const auto total = static_cast<double>(start.back());
  std::vector<Complex> nodes;
  for (size_t i = 0; i + 1 < start.size(); ++i) {
    nodes.push_back(OnCircle(static_cast<double>(start[i] + start[i + 1]) / (2 * total)));
  }
  return nodes;
}

std::vector<Complex> BestNodes(const std::vector<uint64_t>& start, std::span<const HeldRun> runs,
                               const CodeRequest& request) {
  std::vector<Complex> best = MiddleNodes(start);
  double best_score = CircleAmplification(best, runs, request.stragglers);
  std::vector<Complex> nodes;
  for (size_t i = 0; i < best.size(); ++i) {
    nodes.push_back(OnCircle(static_cast<double>(i) / static_cast<double>(best.size())));
  }
  for (int draw = 0; draw <= kPermutations; ++draw) {
    const double score = CircleAmplification(nodes, runs, request.stragglers);
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
  std::vector<uint64_t> start{0};
  for (uint32_t load : loads) start.push_back(start.back() + load);
  const std::vector<HeldRun> runs = HeldRuns(start, form.partitions, copies);
  SetCircleCode(BestNodes(start, runs, request), runs, form);
  return form;
}

}  // namespace motley
