// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/tiling_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace motley {

void TilingChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void TilingChecker::On(const event::WorkerJoined& event) {
  if (event.worker < joined_.size()) joined_[event.worker] = true;
}

void TilingChecker::On(const event::WorkerLost& event) {
  joined_.at(event.worker) = false;
  FreeAllOf(event.worker);
}

void TilingChecker::FreeAllOf(WorkerId worker) {
  std::replace(owner_.begin(), owner_.end(), static_cast<int>(worker), kNobody);
}

void TilingChecker::On(const event::CommandGiven& event) {
  if (const auto* open = std::get_if<OpenLeases>(&event.command)) {
    leasing_ = true;
    step_ = open->step;
  } else if (std::holds_alternative<OpenStep>(event.command)) {
    leasing_ = false;
  } else if (const auto* extend = std::get_if<ExtendLease>(&event.command)) {
    Lease(*extend);
  } else if (const auto* cancel = std::get_if<CancelWork>(&event.command)) {
    if (cancel->step >= step_) FreeAllOf(cancel->worker);
  }
}

void TilingChecker::On(const event::StepOpened& event) {
  if (leasing_) owner_.assign(event.code.partitions, kNobody);
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

void TilingChecker::On(const event::VectorArrived& event) {
  for (const PartitionId p : event.partitions) {
    if (Expect(event.step, event.worker, p, "came from")) owner_[p] = kCovered;
  }
}

void TilingChecker::On(const event::LeaseReleased& event) {
  for (const PartitionId p : event.partitions) {
    if (Expect(event.step, event.worker, p, "was given back by")) owner_[p] = kNobody;
  }
}

void TilingChecker::On(const event::VectorRefused& event) { FreeAllOf(event.worker); }

void TilingChecker::On(const event::StepDecoded& event) {
  if (!leasing_) return;
  const auto missing =
      std::count_if(owner_.begin(), owner_.end(), [](int owner) { return owner != kCovered; });
  if (missing > 0 || event.step != step_) {
    violations_.Add(fmt::format("I2: step {} was committed with {} of {} partitions in no vector",
                                event.step, missing, owner_.size()));
  }
}

}  // namespace motley
