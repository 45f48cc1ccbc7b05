// SPDX-License-Identifier: Apache-2.0
// Where the copies of a job with leases are, and where they are wanted: planned anew when
// membership changed, or when the learned speeds promise a placement that is worth its price. Pure.
#pragma once

#include <functional>
#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/learned/steady_speeds.h"
#include "scheduler/placement/lease_plan.h"
#include "scheduler/placement/plan_pace.h"
#include "scheduler/step/step_policy.h"

namespace motley {

class LeasePlans {
 public:
  // `job` must outlive it. What workers hold from another scheme stays there, as far as balanced
  // shares allow.
  explicit LeasePlans(JobState& job);

  // Looks at who is there and how fast. kInvalidArgument when no placement serves.
  Status Update();
  const LeasePlan& plan() const { return plan_; }

  // What is there. While a step is open, its first worker of each partition comes first.
  const Holders& copies() const { return copies_; }
  void AddCopies(WorkerId worker, const std::vector<PartitionId>& partitions);
  void DropCopies(WorkerId worker);
  void PutPrimariesFirst();

  // Partitions for each worker, of those that may be sent something.
  using Sendings = std::vector<std::vector<PartitionId>>;
  using MaySend = std::function<bool(WorkerId)>;
  // What nobody holds, for whom it is meant.
  Sendings WithoutCopies(const MaySend& may) const;
  // What the plan wants besides, as much as the links bear beside the steps: whoever computes it
  // first, first. Sets whether copies are wanted still.
  Sendings CopiesToSend(const MaySend& may);

  // What is known of the worker when a step begins, at `speed` samples per second.
  StepWorker Predict(WorkerId worker, double speed) const;

 private:
  struct CopiesRoom {
    std::vector<double> of;  // By worker,
    double all = 0;          // and of all together.
  };

  bool MayCallForAnother(const ShareRequest& request) const;
  Gain CallsForAnother(const LeasePlan& fresh, const std::vector<WorkerId>& candidates) const;
  Placement WantedOrThere() const;
  void Adopt(LeasePlan plan);
  double EvenStepSeconds() const;
  CopiesRoom RoomForCopies() const;

  JobState& job_;
  LeasePlan plan_;
  SteadySpeeds steady_;
  PlanPace pace_;
  Holders copies_;
};

}  // namespace motley
