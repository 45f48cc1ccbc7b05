// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/placement_checker.h"

#include <fmt/format.h>

#include <variant>

namespace motley {

void PlacementChecker::OnWorkerJoined(WorkerId worker, const std::string&) {
  if (worker >= held_.size()) return;
  held_[worker].clear();
  checked_[worker] = {};
}

bool PlacementChecker::Holds(WorkerId worker, PartitionId partition) const {
  return partition < held_.at(worker).size() && held_[worker][partition];
}

void PlacementChecker::OnCommand(const Command& command, Time) {
  if (ended_) {
    violations_.Add(fmt::format("a command of kind {} after the end of the job", command.index()));
  }
  if (const auto* open = std::get_if<OpenStep>(&command)) {
    if (form_ != open->code) checked_.assign(checked_.size(), {});
    form_ = open->code;
  }
  if (const auto* place = std::get_if<PlacePartitions>(&command)) {
    std::vector<bool>& held = held_.at(place->worker);
    for (const PartitionId partition : place->partitions) {
      if (partition >= held.size()) held.resize(partition + 1, false);
      held[partition] = true;
    }
  }
  if (const auto* assign = std::get_if<AssignRow>(&command)) CheckAssigned(*assign);
  if (const auto* extend = std::get_if<ExtendLease>(&command)) CheckLeased(*extend);
  ended_ = ended_ || std::holds_alternative<EndJob>(command);
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
  if (form_ == nullptr || assign.row >= form_->rows.size()) {
    violations_.Add(fmt::format("worker {} was given row {} of step {}, which does not exist",
                                assign.worker, assign.row, assign.step));
    return;
  }
  const std::pair<const CodeForm*, RowId> row(form_.get(), assign.row);
  if (checked_.at(assign.worker) == row) return;
  checked_[assign.worker] = row;
  for (const CodeEntry& entry : form_->rows[assign.row]) {
    if (Holds(assign.worker, entry.partition)) continue;
    violations_.Add(fmt::format("worker {} was given row {} of step {} but never got partition {}",
                                assign.worker, assign.row, assign.step, entry.partition));
    checked_[assign.worker] = {};
    return;
  }
}

}  // namespace motley
