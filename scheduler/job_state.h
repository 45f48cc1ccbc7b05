// SPDX-License-Identifier: Apache-2.0
// What the parts of a job's scheduler share: who is there, what was learned of them, where the job
// is, and the commands of the event at hand. Bookkeeping; what to do is decided by the parts.
#pragma once

#include <utility>
#include <vector>

#include "scheduler/learned/deadline.h"
#include "scheduler/learned/lease_watch.h"
#include "scheduler/membership.h"
#include "scheduler/refusals.h"
#include "scheduler/scheduler.h"
#include "scheduler/transfers.h"

namespace motley {

struct JobState {
  explicit JobState(SchedulerOptions wanted);

  SchedulerOptions options;  // With code, tolerance and parts of the scheme that runs.
  Membership members;
  std::vector<LeaseHabits> habits;  // By worker; may be shorter.
  Transfers transfers;
  DeadlineModel deadlines;  // From an assignment, or a report, to a worker's next message.
  Refusals refusals;        // In the open step.
  SchedulerStats totals;    // Without the workers.
  Time now{};
  StepId step = 0;         // The open one, or the next.
  bool step_open = false;  // It waits for answers.
  bool plan_void = true;   // Membership changed since the plan was made.
  std::vector<Command>* out = nullptr;

  template <typename T>
  void Do(T command) {
    out->emplace_back(std::move(command));
  }
  void Say(Notice notice) { Do(Notify{std::move(notice)}); }
  void Say(const Compromise& compromise);
  // What the worker still does for the open step is not needed.
  void Cancel(WorkerId worker) { Do(CancelWork{worker, step}); }
  void SendData(WorkerId worker, std::vector<PartitionId> partitions, DataWatch::Why why);
  // A worker that was left out for its silence speaks.
  void TakeBack(WorkerId worker);
  LeaseHabits& HabitsOf(WorkerId worker);
  double samples_per_partition() const {
    return static_cast<double>(options.batch) / options.partitions;
  }
};

}  // namespace motley
