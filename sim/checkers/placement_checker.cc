// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/placement_checker.h"

#include <fmt/format.h>

#include <variant>

namespace motley {

void PlacementChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void PlacementChecker::On(const event::WorkerJoined& event) {
  if (event.worker >= held_.size()) return;
  held_[event.worker].clear();
  checked_[event.worker] = {};
}

bool PlacementChecker::Holds(WorkerId worker, PartitionId partition) const {
  return partition < held_.at(worker).size() && held_[worker][partition];
}

void PlacementChecker::On(const event::CommandGiven& event) {
  if (ended_) {
    violations_.Add(
        fmt::format("a command of kind {} after the end of the job", event.command.index()));
  }
  if (const auto* open = std::get_if<OpenStep>(&event.command)) {
    forms_[open->step] = open->code;
  }
  if (const auto* commit = std::get_if<CommitStep>(&event.command)) forms_.erase(commit->step);
  if (const auto* place = std::get_if<PlacePartitions>(&event.command)) {
    std::vector<bool>& held = held_.at(place->worker);
    for (const PartitionId partition : place->partitions) {
      if (partition >= held.size()) held.resize(partition + 1, false);
      held[partition] = true;
    }
  }
  if (const auto* assign = std::get_if<AssignRow>(&event.command)) CheckAssigned(*assign);
  if (const auto* extend = std::get_if<ExtendLease>(&event.command)) CheckLeased(*extend);
  ended_ = ended_ || std::holds_alternative<EndJob>(event.command);
}

void PlacementChecker::CheckLeased(const ExtendLease& extend) {
  for (const PartitionId partition : extend.partitions) {
    if (Holds(extend.worker, partition)) continue;
    violations_.Add(fmt::format("worker {} was leased partition {} of step {} but never got it",
                                extend.worker, partition, extend.step));
    return;
  }
}

void PlacementChecker::CheckAssigned(const AssignRow& assign) {
  const auto found = forms_.find(assign.step);
  if (found == forms_.end() || assign.row >= found->second->rows.size()) {
    violations_.Add(fmt::format("worker {} was given row {} of step {}, which does not exist",
                                assign.worker, assign.row, assign.step));
    return;
  }
  const std::pair<Form, RowId> row(found->second, assign.row);
  if (checked_.at(assign.worker) == row) return;
  checked_[assign.worker] = row;
  for (const CodeEntry& entry : row.first->rows[assign.row]) {
    if (Holds(assign.worker, entry.partition)) continue;
    violations_.Add(fmt::format("worker {} was given row {} of step {} but never got partition {}",
                                assign.worker, assign.row, assign.step, entry.partition));
    checked_[assign.worker] = {};
    return;
  }
}

}  // namespace motley
