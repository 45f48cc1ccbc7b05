// SPDX-License-Identifier: Apache-2.0
#include "scheduler/job_state.h"

#include <algorithm>
#include <variant>

namespace motley {

JobState::JobState(SchedulerOptions wanted)
    : options(std::move(wanted)),
      members(options.workers, options.partitions),
      version(options.first_step) {}

void JobState::Say(const Compromise& compromise) {
  std::visit([this](const auto& each) { Say(Notice(each)); }, compromise);
}

void JobState::SendData(WorkerId worker, StepId update, std::vector<PartitionId> partitions,
                        Transfers::Why why) {
  for (const PartitionId p : partitions) {
    if (!members[worker].holds[p]) ++members[worker].stats.placed_partitions;
    members[worker].holds[p] = true;
  }
  const Duration takes = FromSeconds(deadlines.TransferSeconds(partitions.size()));
  transfers.Sent(worker, partitions, update, why, now, takes);
  Do(PlacePartitions{worker, std::move(partitions), why == Transfers::Why::kCopies});
}

void JobState::TakeBack(WorkerId id) {
  Worker& worker = members[id];
  if (!worker.left_out) return;
  worker.left_out = false;
  worker.speed_bound = 0;  // Its silence said nothing about its speed.
  Say(notice::AnswersAgain{id});
  plan_void = true;
}

bool JobState::Lacks(WorkerId worker, PartitionId partition) const {
  return !members[worker].holds[partition] || transfers.IsCopyTo(worker, partition);
}

LeaseHabits& JobState::HabitsOf(WorkerId worker) {
  habits.resize(std::max<size_t>(habits.size(), members.size()));
  return habits[worker];
}

}  // namespace motley
