// SPDX-License-Identifier: Apache-2.0
// For jobs whose workers have updates of their own. I1: each update is applied once, and versions
// count the updates. I2 and I3: it has one answer, from a worker that was asked while it was open.
// I13: nobody begins an update while it is further ahead of the slowest than the bound. Workers
// that joined late, hung or missed an update are not judged, because their clocks were set forward.
// I14: the reported staleness is that of the gradient's version, and within the bound of decision
// 55. Updates in order have the order of their numbers, and gradients that are older by fewer
// updates than there are workers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "runtime/job_event.h"
#include "scheduler/sync/sync_mode.h"
#include "sim/checkers/violations.h"

namespace motley {

class OwnUpdatesChecker final : public JobObserver {
 public:
  OwnUpdatesChecker(Violations& violations, uint32_t workers, SyncMode mode)
      : violations_(violations), mode_(mode), clocks_(workers) {}

  void OnEvent(const JobEvent& event) override;
  uint64_t applied() const { return applied_; }

 private:
  struct Update {
    std::optional<WorkerId> owner;  // The first worker that was asked.
    std::optional<WorkerId> asked;  // The worker that was asked since the update was opened last.
    std::optional<WorkerId> answered;
    uint64_t version = 0;  // That of its gradient.
  };
  struct Clock {
    uint64_t updates = 0;
    bool judged = false;  // It was there from the beginning.
    bool missed = false;  // It was lost, or hung, or another worker did its update.
    bool begun = false;   // It has an update that is not applied.
    bool ended = true;    // It sent the end of its last work.
    Time answered{};      // When its last answer came.
  };

  void On(const event::WorkerLost& event) { clocks_[event.worker].missed = true; }
  void On(const event::WorkComputed& event);
  void On(const event::StepOpened& event);
  void On(const event::RowAssigned& event);
  void On(const event::RowArrived& event);
  void On(const event::StepDecoded& event);
  void On(const event::StepApplied& event);
  bool IsJudged(WorkerId worker) const { return clocks_[worker].judged && !clocks_[worker].missed; }
  void CheckLead(WorkerId worker);
  void CheckStaleness(const Update& update, uint64_t reported);

  Violations& violations_;
  const SyncMode mode_;
  std::vector<Clock> clocks_;  // By worker.
  std::map<StepId, Update> open_;
  std::set<StepId> done_;
  std::optional<StepId> decoded_;  // The update that is being applied.
  uint64_t applied_ = 0;
};

}  // namespace motley
