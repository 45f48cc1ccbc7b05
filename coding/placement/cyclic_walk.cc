// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/cyclic_walk.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "coding/placement/placement.h"

namespace motley {

CyclicWalk WalkInOrder(std::vector<WorkerId> order, std::span<const uint32_t> loads) {
  CyclicWalk walk{std::move(order), {0}};
  for (WorkerId worker : walk.worker) walk.start.push_back(walk.start.back() + loads[worker]);
  return walk;
}

std::vector<WorkerId> SpreadOrder(uint32_t n) {
  auto stride = std::max(1U, static_cast<uint32_t>(n * 0.618034));
  while (std::gcd(stride, n) != 1) ++stride;
  std::vector<WorkerId> order;
  for (uint64_t q = 0; q < n; ++q) order.push_back(static_cast<WorkerId>(q * stride % n));
  return order;
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

CodeForm DraftOf(const CyclicWalk& walk, CodeForm form) {
  form.draft = true;
  for (size_t q = 0; q < walk.worker.size(); ++q) {
    auto& row = form.rows[walk.worker[q]];
    const uint64_t begin = walk.start[q] % form.partitions;
    const uint64_t end = begin + walk.start[q + 1] - walk.start[q];
    const uint64_t over = end > form.partitions ? end - form.partitions : 0;
    row.reserve(end - begin);
    AppendRun(0, static_cast<PartitionId>(over), 1, row);
    AppendRun(static_cast<PartitionId>(begin), static_cast<PartitionId>(end - over), 1, row);
  }
  Finish(form);
  return form;
}

std::vector<Complex> MiddleNodes(const CyclicWalk& walk) {
  const auto total = static_cast<double>(walk.start.back());
  std::vector<Complex> nodes(walk.worker.size());
  for (size_t q = 0; q < nodes.size(); ++q) {
    const auto twice_middle = static_cast<double>(walk.start[q] + walk.start[q + 1]);
    nodes[walk.worker[q]] = OnCircle(twice_middle / (2 * total));
  }
  return nodes;
}

}  // namespace motley
