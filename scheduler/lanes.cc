// SPDX-License-Identifier: Apache-2.0
#include "scheduler/lanes.h"

#include <algorithm>

namespace motley {

Lanes::Lanes(JobState& job)
    : job_(job), lanes_(job.options.sync.one_each ? job.options.workers : 1) {
  MakeEngines();
}

void Lanes::MakeEngines() {
  for (Lane& lane : lanes_) {
    const auto owner = static_cast<WorkerId>(IndexOf(lane));
    lane.engine = job_.options.sync.one_each ? MakeStepEngine(job_, lane.update, owner)
                                             : MakeStepEngine(job_, lane.update);
  }
}

Lane* Lanes::Of(StepId update) {
  for (Lane& lane : lanes_) {
    if (lane.update.begun() && lane.update.id == update) return &lane;
  }
  return nullptr;
}

bool Lanes::AnyOpen() const {
  return std::any_of(begin(), end(), [](const Lane& lane) { return lane.update.open(); });
}

// If updates are applied in order, those behind an interrupted one wait until it goes on.
bool Lanes::Idle() const {
  const bool wait = job_.options.sync.in_order && std::any_of(begin(), end(), [](const Lane& lane) {
                      return lane.update.waiting();
                    });
  return std::none_of(begin(), end(), [wait](const Lane& lane) {
    return lane.update.open() || (lane.update.enough() && !wait);
  });
}

Time Lanes::Due() const {
  Time due = kNever;
  for (const Lane& lane : lanes_) {
    if (lane.update.open()) due = std::min(due, lane.engine->Due());
  }
  return due;
}

Time Lanes::AnswersDue() const {
  Time due = Time::min();
  for (const Lane& lane : lanes_) {
    if (lane.update.open()) due = std::max(due, lane.engine->AnswersDue());
  }
  return due;
}

}  // namespace motley
