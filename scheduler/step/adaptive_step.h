// SPDX-License-Identifier: Apache-2.0
// Exclusive leases: every partition belongs to one worker at a time. The plain sums of what workers
// computed therefore add up to the exact gradient, however slow a worker was.
//
// A step begins with balanced shares. The policy predicts from reports when each worker will be
// done. Shortly before a worker runs dry, the policy asks late workers to give back partitions that
// they have not started and that the dry worker holds. A partition that was given back is leased
// again; one that had been started stays. The partitions that a straggler finished count.
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "scheduler/step/lease_view.h"
#include "scheduler/step/step_policy.h"

namespace motley {

// Timers of event loops and messages between machines are hardly finer than this; steps of a
// millisecond still need it as fine.
inline constexpr double kLeastPaceSeconds = 0.00025;

class AdaptiveStep final : public StepPolicy {
 public:
  // Gives work to every live worker that holds copies.
  explicit AdaptiveStep(StepSetting setting);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return next_tick_; }

  // The following calls happen in a job, but not in the step model. Their commands come with the
  // next event, except for those of Join.
  // A worker that was lost or did not take part is there, without any leases.
  void Join(WorkerId worker, const StepWorker& known, double now, std::vector<StepCommand>& out);
  // The same for a worker that holds nothing. It gets its part of the partitions that nobody has
  // begun, now or not at all in this step. Their data have to be sent first, which takes
  // `sending_seconds` for each.
  void JoinEmptyHanded(WorkerId worker, StepWorker known, double sending_seconds, double now,
                       std::vector<StepCommand>& out);
  void AddCopy(PartitionId partition, WorkerId holder);  // It may be known already.
  void DropCopies(WorkerId holder);
  // Returns the setting for the next step; it must be the last call.
  StepSetting TakeSetting() { return std::move(view_.setting); }

  // Partitions leased to nobody, because no live worker holds them.
  const std::vector<PartitionId>& orphans() const { return orphans_; }
  // Entries that the worker was given and no vector covers yet.
  size_t Owes(WorkerId worker) const {
    return worker < view_.workers.size()
               ? view_.workers[worker].list.size() - view_.workers[worker].spent
               : 0;
  }
  // Entries of the worker that are not known to be computed.
  size_t Uncomputed(WorkerId worker) const {
    return worker < view_.workers.size()
               ? view_.workers[worker].list.size() - view_.workers[worker].forecast.done()
               : 0;
  }

 private:
  void On(const ListProgress& event);
  void On(const ListReleased& event);
  void On(const VectorArrived& event);
  void On(const StepWorkerLost& event);
  void On(const StepTick&) {}

  void ShareOut();
  void GiveOrphans();
  void Decide();
  bool OnlyAwaits();
  void Ask(const std::vector<BalanceMove>& moves);
  void TellWhoIsNearlyDone(const std::vector<BalanceMove>& moves);
  void Extend(WorkerId w, std::vector<PartitionId> partitions);

  LeaseView view_;
  std::vector<bool> covered_;         // By partition: a vector that came covers it.
  std::vector<PartitionId> orphans_;  // Leased to nobody.
  WorkerId at_work_ = 0;              // The worker that the last search for a busy one found.
  size_t missing_ = 0;                // Number of partitions that are not covered.
  size_t leased_ = 0;         // Number of entries of live workers that no vector covers yet.
  double pace_ = 0;           // Least time between decisions.
  double pace_part_ = 0;      // The part of it that follows from the length of the step.
  double believed_pace_ = 0;  // The same for the length that was predicted.
  double decided_ = -std::numeric_limits<double>::infinity();
  double next_tick_ = std::numeric_limits<double>::infinity();
  std::vector<StepCommand>* out_ = nullptr;  // The commands of the event being handled.
};

}  // namespace motley
