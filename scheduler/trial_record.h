// SPDX-License-Identifier: Apache-2.0
// When a code that lost a trial may be tried again: after a pause that grows with each time that it
// loses, and sooner when the cluster has changed meanwhile. Pure bookkeeping.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "scheduler/planner.h"

namespace motley {

class TrialRecord {
 public:
  // `changes`: of the cluster so far (ObservedCluster::changes).
  bool MayTry(const Candidate& candidate, StepId step, uint64_t changes) const;
  void Lost(const Candidate& candidate, StepId step, uint64_t changes);
  void Won(const Candidate& candidate);

 private:
  struct Entry {
    Candidate candidate;
    StepId step = 0;  // When it lost last,
    uint64_t changes = 0;
    uint32_t times = 0;  // in a row.
  };
  std::vector<Entry> entries_;
};

}  // namespace motley
