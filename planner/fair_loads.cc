// SPDX-License-Identifier: Apache-2.0
#include "planner/fair_loads.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "scheduler/step/pieces.h"

namespace motley {

std::vector<double> SendSeconds(const std::vector<StepWorker>& workers, double fraction,
                                const std::vector<uint32_t>& share) {
  std::vector<WorkerId> order(workers.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](WorkerId a, WorkerId b) {
    return workers[a].seconds_per_partition < workers[b].seconds_per_partition;
  });
  std::vector<double> seconds(workers.size(), 0);
  double link = 0, start_link = 0;
  for (const WorkerId w : order) {
    if (workers[w].live && (share.empty() || share[w] > 0)) {
      start_link += workers[w].start_link_seconds;
    }
  }
  for (const WorkerId w : order) {
    const StepWorker& worker = workers[w];
    if (!worker.live) continue;
    const double own = worker.message_seconds * fraction;
    if (share.empty() || share[w] > 0) link += own;
    const bool sends = share.empty() || share[w] > 0;
    seconds[w] = worker.latency_seconds + worker.send_seconds * fraction + link +
                 (sends ? 0 : own) +
                 ReadySeconds(worker, start_link + (sends ? 0 : worker.start_link_seconds));
  }
  return seconds;
}

Result<FairLoads> ShareFairly(const SchemeRequest& request, uint32_t copies, double fraction) {
  FairLoads fair;
  ShareRequest shares;
  shares.partitions = request.partitions * copies;
  shares.copies = copies;
  for (const StepWorker& worker : request.workers) {
    ShareWorker each;
    each.curve.overhead_seconds =
        worker.overhead_seconds + kPiecesOfRow * worker.piece_overhead_seconds;
    each.curve.knee_samples = kPiecesOfRow * worker.piece_knee;
    each.curve.seconds_per_sample = worker.seconds_per_partition;
    each.curve.most_samples = request.partitions;
    each.present = worker.live;
    shares.workers.push_back(each);
  }
  // The first round is with all workers, the second without those that had nothing to send.
  for (int round = 0; round < 2; ++round) {
    if (!request.by_speed) {
      const auto send = SendSeconds(request.workers, fraction, fair.loads);
      for (WorkerId w = 0; w < send.size(); ++w) shares.workers[w].fixed_seconds = send[w];
    }
    MOTLEY_ASSIGN_OR_RETURN(BalancedShares balanced, BalanceShares(shares));
    fair.loads = std::move(balanced.partitions);
    const bool all = std::find(fair.loads.begin(), fair.loads.end(), 0U) == fair.loads.end();
    if (all || request.by_speed) break;
  }
  shares.partitions = request.partitions;
  shares.copies = request.copies;
  for (ShareWorker& worker : shares.workers) {
    worker.curve.most_samples = std::numeric_limits<double>::infinity();
  }
  fair.request = std::move(shares);
  return fair;
}

}  // namespace motley
