// SPDX-License-Identifier: Apache-2.0
// I9: once faults have stopped, and while a worker lives, the next commit comes within a given
// time.
#pragma once

#include "runtime/job_event.h"
#include "sim/checkers/violations.h"

namespace motley {

class LivenessChecker final : public JobObserver {
 public:
  // From `quiet_from` on, two commits are at most `limit` apart.
  LivenessChecker(Violations& violations, Time quiet_from, Duration limit)
      : violations_(violations), since_(quiet_from), limit_(limit) {}

  void OnEvent(const JobEvent& event) override;
  // Call when the job is not over at `now`, with the number of workers alive.
  void StillRunning(Time now, uint32_t live_workers);

 private:
  void On(const event::StepApplied& event);

  Violations& violations_;
  Time since_;
  const Duration limit_;
  StepId next_ = 0;
};

}  // namespace motley
