// SPDX-License-Identifier: Apache-2.0
// State that the parts of a job's scheduler share: the workers that are there, what was learned
// about them, how far the job is, and the commands of the current event. The state is bookkeeping;
// the parts decide.
#pragma once

#include <utility>
#include <vector>

#include "scheduler/learned/deadline.h"
#include "scheduler/learned/lease_watch.h"
#include "scheduler/membership.h"
#include "scheduler/scheduler.h"
#include "scheduler/transfers.h"

namespace motley {

struct JobState {
  explicit JobState(SchedulerOptions wanted);

  SchedulerOptions options;  // Code, tolerance and parts are those of the scheme that runs.
  Membership members;
  std::vector<LeaseHabits> habits;  // By worker; may be shorter.
  Transfers transfers;
  DeadlineModel deadlines;  // Time from an assignment, or a report, to a worker's next message.
  SchedulerStats totals;    // Without the figures of the workers.
  Time now{};
  uint64_t version;       // The updates that were applied, in earlier runs as well.
  bool plan_void = true;  // Membership changed since the plan was made.
  std::vector<Command>* out = nullptr;

  template <typename T>
  void Do(T command) {
    out->emplace_back(std::move(command));
  }
  void Say(Notice notice) { Do(Notify{std::move(notice)}); }
  void Say(const Compromise& compromise);
  // Sends data that work of `update` needs or will need.
  void SendData(WorkerId worker, StepId update, std::vector<PartitionId> partitions,
                Transfers::Why why);
  // True if data have to be sent before the worker can work on the partition soon. A copy on its
  // way gives way to everything else, so it is sent again as needed data.
  bool Lacks(WorkerId worker, PartitionId partition) const;
  // A worker that was left out for its silence sent a message.
  void TakeBack(WorkerId worker);
  LeaseHabits& HabitsOf(WorkerId worker);
  double samples_per_partition() const {
    return static_cast<double>(options.batch) / options.partitions;
  }
};

}  // namespace motley
