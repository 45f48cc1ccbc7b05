// SPDX-License-Identifier: Apache-2.0
// Where the copies of a job with leases are, and where they are wanted. Placement is planned anew
// when membership changed, or when the learned speeds promise one that is worth its price. Pure.
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
  // `job` must outlive it. Data that workers hold from another scheme stay there, as far as
  // balanced shares allow.
  explicit LeasePlans(JobState& job);

  // Uses the present workers and speeds. kInvalidArgument when no placement serves.
  Status Update();
  const LeasePlan& plan() const { return plan_; }

  // Copies that exist. While a step is open, the first worker of each partition in the step comes
  // first.
  const Holders& copies() const { return copies_; }
  void AddCopies(WorkerId worker, const std::vector<PartitionId>& partitions);
  void DropCopies(WorkerId worker);
  void PutPrimariesFirst();

  // Partitions for each worker that may be sent data.
  using Sendings = std::vector<std::vector<PartitionId>>;
  using MaySend = std::function<bool(WorkerId)>;
  // Partitions that nobody holds, for the workers that the plan means them for.
  Sendings WithoutCopies(const MaySend& may) const;
  // Further copies that the plan wants, as many as the links bear beside the steps. Copies for the
  // worker that computes a partition first come first. Sets whether copies are still wanted.
  Sendings CopiesToSend(const MaySend& may);

  // The worker's figures at the beginning of a step, at `speed` samples per second.
  StepWorker Predict(WorkerId worker, double speed) const;

 private:
  struct CopiesRoom {
    std::vector<double> of;  // By worker.
    double all = 0;          // For all workers together.
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
