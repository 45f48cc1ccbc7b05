// SPDX-License-Identifier: Apache-2.0
// Exclusive leases: every partition is one worker's at a time, so that plain sums of what each
// computed add up to the exact gradient, whoever was slow. A step begins with balanced shares; the
// policy predicts from reports who will be done when, and shortly before a worker runs dry asks the
// late ones to give back what they have not started and it holds copies of. A partition that was
// given back is leased again; one that had been started stays. What a straggler did finish counts.
#pragma once

#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include "scheduler/step/balance.h"
#include "scheduler/step/forecast.h"
#include "scheduler/step/step_policy.h"

namespace motley {

// Timers of event loops and messages between machines are hardly finer than this; steps of a
// millisecond still need it as fine.
inline constexpr double kLeastPaceSeconds = 0.00025;

class AdaptiveStep final : public StepPolicy {
 public:
  // Every live worker that holds copies gets work; `setting` is kept.
  explicit AdaptiveStep(StepSetting setting);

  void Begin(std::vector<StepCommand>& out) override;
  void OnEvent(const StepEvent& event, double now, std::vector<StepCommand>& out) override;
  double NextTick() const override { return next_tick_; }

  // What happens to a job besides, and not in the step model. What it causes comes with the next
  // event, Join apart.
  // One that was lost or did not take part is there, with nothing leased to it.
  void Join(WorkerId worker, const StepWorker& known, double now, std::vector<StepCommand>& out);
  // The same of one that holds nothing. It gets its part of what nobody has begun, now or not at
  // all in this step: leases of partitions that it has to be sent, which takes so long for each.
  void JoinEmptyHanded(WorkerId worker, StepWorker known, double sending_seconds, double now,
                       std::vector<StepCommand>& out);
  void AddCopy(PartitionId partition, WorkerId holder);
  void DropCopies(WorkerId holder);
  // For the next step, after the last call of anything else.
  StepSetting TakeSetting() { return std::move(setting_); }

  // Leased to nobody, because no live worker holds them.
  const std::vector<PartitionId>& orphans() const { return orphans_; }
  // Entries that it was given and no vector covers yet.
  size_t Owes(WorkerId worker) const {
    return worker < workers_.size() ? workers_[worker].list.size() - workers_[worker].spent : 0;
  }
  // Of those, how many are not known to be computed.
  size_t Uncomputed(WorkerId worker) const {
    return worker < workers_.size()
               ? workers_[worker].list.size() - workers_[worker].forecast.done()
               : 0;
  }

 private:
  struct Worker {
    explicit Worker(Forecast as_known) : forecast(as_known) {}
    std::vector<PartitionId> list;  // Leased to it, in its order.
    Forecast forecast;
    uint32_t spent = 0;                         // Entries of `list` whose vector came.
    uint32_t asked = 0;                         // Of `list`, to be given back.
    uint32_t begun = 0;                         // Entries that are known to be.
    std::deque<std::vector<PartitionId>> asks;  // Not answered yet, in the order they were made.
    uint32_t incoming = 0;                      // Meant for it, asked of others.
    bool live = true;
    bool told = false;  // To send at the end of the list.
    bool idle() const { return forecast.done() == list.size(); }
    // Per partition; the silence of one that has nothing to do says nothing.
    double Seconds(double now) const {
      return idle() ? forecast.Expected() : forecast.Seconds(now);
    }
  };

  void On(const ListProgress& event);
  void On(const ListReleased& event);
  void On(const VectorArrived& event);
  void On(const StepWorkerLost& event);
  void On(const StepTick&) {}

  double Latency(WorkerId w) const { return setting_.workers[w].latency_seconds; }
  void SetSlots(std::vector<BalanceWorker>& workers) const;
  void View();
  double LastOfView() const;
  void LeaveOutWhoWaitsBeyond(double end);
  void AddMovable();
  double DryAt(WorkerId w, double seconds) const;
  double BusyUntil(WorkerId w, double seconds) const;
  void ShareOut();
  void GiveOrphans();
  void Decide();
  double Lead(WorkerId giver, WorkerId taker) const;
  bool OnlyAwaits();
  bool AnyNearlyDry() const;
  double LatencyOf(const std::vector<BalanceMove>& moves) const;
  std::vector<BalanceMove> Urgent(const std::vector<BalanceMove>& moves) const;
  void Ask(const std::vector<BalanceMove>& moves);
  void TellWhoIsNearlyDone(const std::vector<BalanceMove>& moves);
  void Extend(WorkerId w, std::vector<PartitionId> partitions);

  StepSetting setting_;
  std::vector<Worker> workers_;
  std::vector<bool> covered_;         // By vectors that came.
  std::vector<WorkerId> asked_for_;   // By partition: asked back, and for whom; or kNobody.
  std::vector<PartitionId> orphans_;  // Leased to nobody.
  // As they were seen at the last decision: everybody, and until when each was busy.
  std::vector<BalanceWorker> view_;
  std::vector<double> busy_until_;
  WorkerId slowest_link_ = 0;  // Of the greatest latency.
  double start_link_ = 0;      // For which everybody's parameters occupy it.
  bool link_matters_ = false;  // Some vector occupies it.
  WorkerId at_work_ = 0;       // It was, when somebody was last looked for who is.
  size_t missing_ = 0;         // Partitions that are not covered.
  size_t leased_ = 0;          // Entries of live workers that no vector covers yet.
  double now_ = 0;
  double pace_ = 0;           // Least time between decisions.
  double pace_part_ = 0;      // The same, of the step.
  double believed_pace_ = 0;  // The same, of the step as it was predicted.
  double decided_ = -std::numeric_limits<double>::infinity();
  double next_tick_ = std::numeric_limits<double>::infinity();
  std::vector<StepCommand>* out_ = nullptr;  // Of the event being handled.
};

}  // namespace motley
