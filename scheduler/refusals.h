// SPDX-License-Identifier: Apache-2.0
// The workers whose answers were refused in the open step, and the consequences. Pure.
//
// A few bad workers prove nothing, even if they are the majority. Training has diverged only when
// no worker that is awake can answer well. A worker that lies is sent away after three refused
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
  // True if only workers with refused answers in this step can still be expected to answer.
  bool OnlyTheyAreLeft(const Membership& members, Time now) const;
  // True if all awake workers were refused in this step, or if the only worker left was refused
  // again and again.
  bool ShowDivergence(const Membership& members, Time now) const;
  // The worker has to be sent away: it had too many, and others are there.
  static bool TooMany(const Membership& members, WorkerId worker);

 private:
  std::vector<WorkerId> senders_;  // Once for each refused answer.
};

}  // namespace motley
