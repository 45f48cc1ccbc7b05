// SPDX-License-Identifier: Apache-2.0
// The workers whose answers were refused in the open step, and what follows from it. Pure.
//
// A few bad workers prove nothing, even a majority of them: training has diverged only when no
// worker that is awake can answer well. A worker that lies is sent away after three refused
// answers.
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "scheduler/membership.h"

namespace motley {

class Refusals {
 public:
  void StepBegins() { senders_.clear(); }
  void Add(WorkerId worker) { senders_.push_back(worker); }

  bool Has(WorkerId worker) const;
  // Nobody can be counted on but those whose answers were refused in this step.
  bool OnlyTheyAreLeft(const Membership& members, Time now) const;
  // All who are awake were refused in this step, or the only worker that is left, again and again.
  bool ShowDivergence(const Membership& members, Time now) const;
  // The worker has to be sent away: it had too many, and others are there.
  static bool TooMany(const Membership& members, WorkerId worker);

 private:
  std::vector<WorkerId> senders_;  // Once for each refused answer.
};

}  // namespace motley
