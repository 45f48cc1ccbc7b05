// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/tiling_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace motley {

void TilingChecker::OnWorkerJoined(WorkerId worker, const std::string&) {
  if (worker < joined_.size()) joined_[worker] = true;
}

void TilingChecker::OnWorkerLost(WorkerId worker, const Status&) {
  joined_.at(worker) = false;
  FreeAllOf(worker);
}

void TilingChecker::FreeAllOf(WorkerId worker) {
  std::replace(owner_.begin(), owner_.end(), static_cast<int>(worker), kNobody);
}

void TilingChecker::OnCommand(const Command& command, Time) {
  if (const auto* open = std::get_if<OpenLeases>(&command)) {
    leasing_ = true;
    step_ = open->step;
  } else if (std::holds_alternative<OpenStep>(command)) {
    leasing_ = false;
  } else if (const auto* extend = std::get_if<ExtendLease>(&command)) {
    Lease(*extend);
  } else if (const auto* cancel = std::get_if<CancelWork>(&command)) {
    if (cancel->step >= step_) FreeAllOf(cancel->worker);
  }
}

void TilingChecker::OnStepOpened(StepId, const CodeForm& form, Time) {
  if (leasing_) owner_.assign(form.partitions, kNobody);
}

void TilingChecker::Lease(const ExtendLease& extend) {
  if (!joined_.at(extend.worker)) return;  // The scheduler does not know of the loss yet.
  for (const PartitionId p : extend.partitions) {
    if (!leasing_ || extend.step != step_ || p >= owner_.size()) {
      violations_.Add(
          fmt::format("I3: partition {} was leased to worker {} for step {} while {} "
                      "was open",
                      p, extend.worker, extend.step, step_));
    } else if (owner_[p] != kNobody) {
      violations_.Add(fmt::format(
          "I3: partition {} of step {} was leased to worker {} {}", p, step_, extend.worker,
          owner_[p] == kCovered ? "after it had arrived"
                                : fmt::format("while worker {} had it", owner_[p])));
    } else {
      owner_[p] = static_cast<int>(extend.worker);
    }
  }
}

bool TilingChecker::Expect(StepId step, WorkerId worker, PartitionId partition, const char* what) {
  if (leasing_ && step == step_ && partition < owner_.size() &&
      owner_[partition] == static_cast<int>(worker)) {
    return true;
  }
  violations_.Add(fmt::format("I3: partition {} of step {} {} worker {}, which did not have it",
                              partition, step, what, worker));
  return false;
}

void TilingChecker::OnVectorArrived(StepId step, WorkerId worker,
                                    std::span<const PartitionId> partitions, Time) {
  for (const PartitionId p : partitions) {
    if (Expect(step, worker, p, "came from")) owner_[p] = kCovered;
  }
}

void TilingChecker::OnLeaseReleased(StepId step, WorkerId worker,
                                    std::span<const PartitionId> partitions, Time) {
  for (const PartitionId p : partitions) {
    if (Expect(step, worker, p, "was given back by")) owner_[p] = kNobody;
  }
}

void TilingChecker::OnVectorRefused(StepId, WorkerId worker, Time) { FreeAllOf(worker); }

void TilingChecker::OnStepDecoded(StepId step, const DecodedSum&, std::span<const float>, Time) {
  if (!leasing_) return;
  const auto missing =
      std::count_if(owner_.begin(), owner_.end(), [](int owner) { return owner != kCovered; });
  if (missing > 0 || step != step_) {
    violations_.Add(fmt::format("I2: step {} was committed with {} of {} partitions in no vector",
                                step, missing, owner_.size()));
  }
}

}  // namespace motley
