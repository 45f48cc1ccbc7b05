// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/placement_checker.h"

#include <fmt/format.h>

#include <variant>

namespace motley {

void PlacementChecker::OnWorkerJoined(WorkerId worker, const std::string&) {
  if (worker < held_.size()) held_[worker].clear();
}

void PlacementChecker::OnCommand(const Command& command, Time) {
  if (ended_) {
    violations_.Add(fmt::format("a command of kind {} after the end of the job", command.index()));
  }
  if (const auto* open = std::get_if<OpenStep>(&command)) form_ = open->code;
  if (const auto* place = std::get_if<PlacePartitions>(&command)) {
    held_.at(place->worker).insert(place->partitions.begin(), place->partitions.end());
  }
  if (const auto* assign = std::get_if<AssignRow>(&command)) CheckAssigned(*assign);
  ended_ = ended_ || std::holds_alternative<EndJob>(command);
}

void PlacementChecker::CheckAssigned(const AssignRow& assign) {
  if (form_ == nullptr || assign.row >= form_->rows.size()) {
    violations_.Add(fmt::format("worker {} was given row {} of step {}, which does not exist",
                                assign.worker, assign.row, assign.step));
    return;
  }
  for (const CodeEntry& entry : form_->rows[assign.row]) {
    if (held_.at(assign.worker).contains(entry.partition)) continue;
    violations_.Add(fmt::format("worker {} was given row {} of step {} but never got partition {}",
                                assign.worker, assign.row, assign.step, entry.partition));
    return;
  }
}

}  // namespace motley
