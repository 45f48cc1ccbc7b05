// SPDX-License-Identifier: Apache-2.0
#include "coding/cyclic_walk.h"

#include <algorithm>

namespace motley {

CyclicWalk WalkInOrder(std::vector<WorkerId> order, std::span<const uint32_t> loads) {
  CyclicWalk walk{std::move(order), {0}};
  for (WorkerId worker : walk.worker) walk.start.push_back(walk.start.back() + loads[worker]);
  return walk;
}

std::vector<HeldRun> HeldRuns(const CyclicWalk& walk, uint32_t partitions, uint32_t copies) {
  std::vector<PartitionId> cuts{0, partitions};
  for (uint64_t place : walk.start) cuts.push_back(static_cast<PartitionId>(place % partitions));
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<HeldRun> runs;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    HeldRun run{cuts[i], cuts[i + 1], {}};
    for (uint32_t t = 0; t < copies; ++t) {
      const uint64_t place = cuts[i] + uint64_t{t} * partitions;
      const auto after = std::upper_bound(walk.start.begin(), walk.start.end(), place);
      run.holders.push_back(walk.worker[after - walk.start.begin() - 1]);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace motley
