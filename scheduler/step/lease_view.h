// SPDX-License-Identifier: Apache-2.0
// The workers of a step with exclusive leases: what each was leased, and when it is predicted to be
// done. AdaptiveStep keeps the leases and decides by this view.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "scheduler/step/balance.h"
#include "scheduler/step/forecast.h"
#include "scheduler/step/step_policy.h"

namespace motley {

struct LeasedWorker {
  explicit LeasedWorker(Forecast as_known) : forecast(as_known) {}
  std::vector<PartitionId> list;  // The partitions leased to it, in its order.
  Forecast forecast;
  uint32_t spent = 0;                         // Entries of `list` whose vector came.
  uint32_t asked = 0;                         // Entries of `list` that it was asked to give back.
  uint32_t begun = 0;                         // Entries that have certainly begun.
  std::deque<std::vector<PartitionId>> asks;  // Not answered yet, in the order they were made.
  uint32_t incoming = 0;  // Partitions that others were asked to give back for it.
  bool live = true;
  bool told = false;  // It was asked to send at the end of the list.
  bool idle() const { return forecast.done() == list.size(); }
  // The worker has leases that no vector covers, or is meant to get some.
  bool has_work() const { return spent < list.size() || incoming > 0; }
  // Per partition. The silence of a worker with nothing to do is no evidence.
  double Seconds(double now) const { return idle() ? forecast.Expected() : forecast.Seconds(now); }
};

struct LeaseView {
  static constexpr WorkerId kNobody = std::numeric_limits<WorkerId>::max();

  explicit LeaseView(StepSetting as_set);

  // A worker that is not live takes part from now on.
  void Join(WorkerId w, const StepWorker& known);
  double Latency(WorkerId w) const { return setting.workers[w].latency_seconds; }
  // Orders the vectors that occupy the server's link (BalanceWorker::before).
  void SetSlots(std::vector<BalanceWorker>& plan) const;

  // Sets `seen` and `busy_until` to what is predicted now.
  void Look();
  // When the last worker in `seen` with present or future work would be done. A worker without work
  // would not delay the step, however far away it is.
  double Last() const;
  // A worker whose data come when all is done is no help.
  void LeaveOutWhoWaitsBeyond(double end);
  // Adds to `seen` the entries that each worker will not have begun when it gets the message.
  void AddMovable();

  // When the worker will have computed what it keeps, with `seconds` for one partition.
  double DryAt(WorkerId w, double seconds) const;
  // The same with the partitions that it is meant to get from others.
  double BusyUntil(WorkerId w, double seconds) const;
  // `pace`: the least time between decisions.
  bool AnyNearlyDry(double pace) const;
  // Moves that cannot wait: the taker is about to run dry, or the giver to begin the partition.
  std::vector<BalanceMove> Urgent(const std::vector<BalanceMove>& moves, double pace) const;
  // The latency of the slowest link in these moves.
  double LatencyOf(const std::vector<BalanceMove>& moves) const;

  StepSetting setting;
  std::vector<LeasedWorker> workers;
  std::vector<WorkerId> asked_for;  // By partition: the worker it was asked back for, or kNobody.
  double now = 0;
  std::vector<BalanceWorker> seen;
  std::vector<double> busy_until;
  // Seconds for which the parameters for all workers occupy the server's link.
  double start_link = 0;
  bool link_matters = false;  // Some vector occupies the link.
  WorkerId slowest_link = 0;  // The live worker with the greatest latency.

 private:
  double Lead(WorkerId giver, WorkerId taker, double pace) const;
  void Notice(WorkerId w);
};

}  // namespace motley
