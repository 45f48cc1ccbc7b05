// SPDX-License-Identifier: Apache-2.0
#include "sim/checkers/own_updates_checker.h"

#include <fmt/format.h>

namespace motley {
namespace {

// Seconds that the server waits at least for a worker (scheduler/learned/deadline.cc).
constexpr double kLeastPatience = 0.05;

}  // namespace

void OwnUpdatesChecker::OnEvent(const JobEvent& event) {
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

// An update opens again if it was interrupted or touched by a refused answer.
void OwnUpdatesChecker::On(const event::StepOpened& event) {
  if (done_.contains(event.step)) {
    violations_.Add(fmt::format("I1: update {} was opened again after it was done", event.step));
  }
  Update& update = open_[event.step];
  if (update.owner) clocks_[*update.owner].missed = true;
  update.asked.reset();
  update.answered.reset();
}

void OwnUpdatesChecker::On(const event::RowAssigned& event) {
  const auto found = open_.find(event.step);
  if (found == open_.end()) {
    violations_.Add(fmt::format("I3: update {} was given to worker {} while it was not open",
                                event.step, event.worker));
    return;
  }
  Update& update = found->second;
  if (update.asked) {
    violations_.Add(fmt::format("I3: update {} was given to worker {} beside worker {}", event.step,
                                event.worker, *update.asked));
  }
  if (!update.owner) {
    CheckLead(event.worker);
    update.owner = event.worker;
    clocks_[event.worker].begun = true;
  }
  clocks_[event.worker].ended = false;
  update.asked = event.worker;
}

void OwnUpdatesChecker::CheckLead(WorkerId worker) {
  if (applied_ == 0) clocks_[worker].judged = true;
  if (!IsJudged(worker)) return;
  for (WorkerId other = 0; other < clocks_.size(); ++other) {
    if (!IsJudged(other)) continue;
    if (mode_.MayBegin(clocks_[worker].updates, clocks_[other].updates)) continue;
    if (!clocks_[other].begun && !clocks_[other].ended) {
      clocks_[other].missed = true;
      continue;
    }
    violations_.Add(fmt::format("I13: worker {} began after {} updates, and worker {} had {}",
                                worker, clocks_[worker].updates, other, clocks_[other].updates));
  }
}

// A worker that hung after its update was applied may have left the clocks. It came back with the
// slowest one then, so it is not judged if all others are ahead of it.
void OwnUpdatesChecker::On(const event::WorkComputed& event) {
  if (event.so_far) return;
  Clock& clock = clocks_[event.worker];
  const bool hung =
      !clock.begun && !clock.ended && event.now - clock.answered >= FromSeconds(kLeastPatience);
  clock.ended = true;
  if (!hung) return;
  for (WorkerId other = 0; other < clocks_.size(); ++other) {
    if (other == event.worker || !IsJudged(other)) continue;
    if (clocks_[other].updates <= clock.updates) return;
  }
  clock.missed = true;
}

void OwnUpdatesChecker::On(const event::RowArrived& event) {
  const auto found = open_.find(event.step);
  if (found == open_.end() || found->second.answered || found->second.asked != event.worker) {
    violations_.Add(fmt::format("I3: an answer of worker {} to update {} counted, which {}",
                                event.worker, event.step,
                                found == open_.end()     ? "was not open"
                                : found->second.answered ? "had one already"
                                                         : "it was not given"));
    return;
  }
  found->second.answered = event.worker;
  clocks_[event.worker].answered = event.now;
}

void OwnUpdatesChecker::On(const event::StepDecoded& event) {
  const auto found = open_.find(event.step);
  if (found == open_.end() || decoded_) {
    violations_.Add(fmt::format("I1: update {} decoded while {}", event.step,
                                decoded_ ? "another was being applied" : "it was not open"));
    return;
  }
  decoded_ = event.step;
  done_.insert(event.step);
  found->second.version = event.version;
  if (event.worker != found->second.answered) {
    violations_.Add(fmt::format("I3: update {} was applied as another worker's", event.step));
  }
  if (!found->second.answered) {
    violations_.Add(fmt::format("I2: update {} was committed without an answer", event.step));
  }
}

void OwnUpdatesChecker::On(const event::StepApplied& event) {
  if (event.step != applied_) {
    violations_.Add(fmt::format("I1: version {} followed version {}", event.step + 1, applied_));
  }
  ++applied_;
  if (!decoded_) {
    violations_.Add(fmt::format("I1: version {} has no decoded gradient", applied_));
    return;
  }
  const Update& update = open_.at(*decoded_);
  CheckStaleness(update, event.staleness);
  if (update.owner) {
    ++clocks_[*update.owner].updates;
    clocks_[*update.owner].begun = false;
  }
  open_.erase(*decoded_);
  decoded_.reset();
}

// While a worker computes, each other one can have at most 2 S + 1 updates applied, and one more if
// it came back meanwhile.
void OwnUpdatesChecker::CheckStaleness(const Update& update, uint64_t reported) {
  const uint64_t staleness = applied_ - 1 - update.version;
  if (reported != staleness) {
    violations_.Add(fmt::format("I14: update {} has staleness {}, and {} was reported", *decoded_,
                                staleness, reported));
  }
  if (mode_.in_order && (*decoded_ + 1 != applied_ || staleness >= clocks_.size())) {
    violations_.Add(fmt::format("I14: update {} was number {}, and its gradient {} updates old",
                                *decoded_, applied_ - 1, staleness));
  }
  if (!mode_.most_ahead || !update.owner || update.answered != update.owner) return;
  if (!IsJudged(*update.owner)) return;
  uint64_t most = 0;
  for (WorkerId other = 0; other < clocks_.size(); ++other) {
    if (other != *update.owner) most += 2 * *mode_.most_ahead + (IsJudged(other) ? 1 : 2);
  }
  if (staleness <= most) return;
  violations_.Add(fmt::format("I14: the gradient of update {} was {} updates old, at most {} fit",
                              *decoded_, staleness, most));
}

}  // namespace motley
