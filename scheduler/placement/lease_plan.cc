// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/lease_plan.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/step/balance.h"

namespace motley {
namespace {

// All workers with the partitions that they hold first. Empty if a partition has no holder.
std::vector<BalanceWorker> FirstHolders(const Holders& copies, const ShareRequest& request) {
  std::vector<BalanceWorker> view(request.workers.size());
  for (WorkerId w = 0; w < view.size(); ++w) {
    view[w].takes = request.workers[w].present;
    view[w].seconds = SecondsFor(request.workers[w].curve, request.samples_per_partition);
  }
  for (PartitionId p = 0; p < copies.size(); ++p) {
    bool any = false;
    for (const WorkerId w : copies[p]) {
      if (w >= view.size()) view.resize(w + 1, BalanceWorker{.takes = false});
      if (any || !view[w].takes) continue;
      any = true;
      view[w].movable.push_back(p);
      view[w].finish += view[w].seconds;
    }
    if (!any) return {};
  }
  return view;
}

double LastOf(const std::vector<BalanceWorker>& view) {
  if (view.empty()) return std::numeric_limits<double>::infinity();
  double last = 0;
  for (const BalanceWorker& worker : view) last = std::max(last, worker.finish);
  return last;
}

}  // namespace

ShareRequest RequestFor(const SchedulerOptions& options, const std::vector<WorkerId>& members,
                        const std::vector<double>& speeds) {
  ShareRequest request;
  request.partitions = options.partitions;
  request.samples_per_partition = static_cast<double>(options.batch) / options.partitions;
  request.copies = std::min<uint32_t>(options.tolerate + 1, static_cast<uint32_t>(members.size()));
  request.workers.resize(members.back() + 1);
  for (ShareWorker& worker : request.workers) worker.present = false;
  for (size_t i = 0; i < members.size(); ++i) {
    ShareWorker& worker = request.workers[members[i]];
    worker.present = true;
    worker.curve.seconds_per_sample = 1 / (options.shares == Shares::kEqual ? 1.0 : speeds[i]);
  }
  return request;
}

Result<LeasePlan> MakeLeasePlan(const SchedulerOptions& options, const ShareRequest& request,
                                const Placement& old) {
  LeasePlan plan;
  plan.copies = request.copies;
  MOTLEY_ASSIGN_OR_RETURN(BalancedShares shares, BalanceShares(request));
  if (old.holders.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(plan.placement, PlaceCopies(request, shares));
  } else {
    MOTLEY_ASSIGN_OR_RETURN(Relocation moved, MoveLeast(old, request, shares));
    plan.moves = static_cast<uint32_t>(moved.transfers.size());
    plan.placement = std::move(moved.placement);
  }
  plan.step_seconds = shares.step_seconds;
  plan.primary = std::move(shares.partitions);
  if (plan.copies <= options.tolerate) {
    plan.compromise = notice::FewerCopies{plan.copies, options.tolerate + 1};
  }
  return plan;
}

double UnaidedSeconds(const Holders& holders, const ShareRequest& request) {
  return LastOf(FirstHolders(holders, request));
}

double EvenedSeconds(const Holders& holders, const ShareRequest& request) {
  std::vector<BalanceWorker> view = FirstHolders(holders, request);
  Balance(view, holders);
  return LastOf(view);
}

}  // namespace motley
