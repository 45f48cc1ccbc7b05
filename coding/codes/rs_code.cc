// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/rs_code.h"

#include <numeric>

#include "coding/placement/placement.h"
#include "coding/placement/unit_circle.h"

namespace motley {
namespace {

std::vector<Complex> StridedNodes(uint32_t workers, uint32_t stride) {
  std::vector<Complex> nodes;
  for (uint64_t i = 0; i < workers; ++i) {
    nodes.push_back(OnCircle(static_cast<double>(i * stride % workers) / workers));
  }
  return nodes;
}

// The stride coprime to n with the least max |B|; it is near n / (s + 1). All windows of holders
// are rotations of the first, so one window is enough to judge. ||a|| does not depend on the order
// of the nodes.
std::vector<Complex> BestNodes(uint32_t workers, uint32_t stragglers, const HeldRun& window) {
  std::vector<Complex> best = StridedNodes(workers, 1);
  double best_score = LogLargestOnCircle(best, {&window, 1});
  for (uint32_t stride = 2; stragglers > 0 && stride <= workers / 2; ++stride) {
    if (std::gcd(stride, workers) != 1) continue;
    std::vector<Complex> nodes = StridedNodes(workers, stride);
    const double score = LogLargestOnCircle(nodes, {&window, 1});
    if (score < best_score) {
      best_score = score;
      best = std::move(nodes);
    }
  }
  return best;
}

}  // namespace

Result<CodeForm> BuildReedSolomonCode(const CodeRequest& request) {
  CodeForm form = EmptyForm("rs", request);
  const uint32_t n = form.workers;
  std::vector<HeldRun> runs;
  for (uint32_t group = 0; group < n; ++group) {
    HeldRun run{
        GroupBegin(group, n, form.partitions), GroupBegin(group + 1, n, form.partitions), {}};
    for (uint32_t t = 0; t <= form.stragglers; ++t) run.holders.push_back((group + n - t) % n);
    runs.push_back(std::move(run));
  }
  SetCircleCode(BestNodes(n, form.stragglers, runs[0]), runs, form);
  return form;
}

}  // namespace motley
