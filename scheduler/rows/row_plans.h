// SPDX-License-Identifier: Apache-2.0
// The rows that each worker of a job has. They are planned anew when membership changed, or when
// the learned speeds promise a plan that is worth its price. Pure.
#pragma once

#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/learned/steady_speeds.h"
#include "scheduler/placement/plan.h"
#include "scheduler/placement/plan_pace.h"
#include "scheduler/sync/batch_parts.h"

namespace motley {

// Partitions of the row that the worker does not hold.
uint32_t MissingPartitions(const Worker& worker, const std::vector<CodeEntry>& row);

class RowPlans {
 public:
  // `job` must outlive it. Data that workers already hold come from another scheme. The plan is
  // the first one; without a code, Update makes it.
  explicit RowPlans(JobState& job, Plan plan = {});

  // Uses the present workers and speeds. Does nothing if each worker has updates of its own.
  // kInvalidArgument when no code can share the work.
  Status Update();
  // The only row is over these partitions from now on.
  void Take(const BatchPart& part);
  // Its code is null before the first Update.
  const Plan& plan() const { return plan_; }
  uint64_t number() const { return number_; }  // Each plan has another number.
  // True if the first plan of this scheme found workers that had served another scheme.
  bool follows_another() const { return follows_another_; }

 private:
  bool WorthALook(const std::vector<WorkerId>& candidates, const std::vector<double>& speeds) const;
  Gain SpeedsCallForAnother(const Plan& fresh) const;
  bool SureToGain(const Plan& fresh) const;
  std::vector<WorkerId> TakingPart(const std::vector<WorkerId>& ids) const;
  std::vector<double> Speeds(const std::vector<WorkerId>& ids, double errors = 0) const;
  void KeepPlaces(Plan& plan) const;
  void Adopt(Plan plan);

  JobState& job_;
  bool follows_another_;
  Plan plan_;
  uint64_t number_ = 1;
  SteadySpeeds steady_;
  PlanPace pace_;
};

}  // namespace motley
