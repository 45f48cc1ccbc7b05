// SPDX-License-Identifier: Apache-2.0
// The bulk-synchronous policy with exclusive leases (MakeLeaseScheduler). Data is placed so that
// every partition has copies; each step is worked off by an AdaptiveStep over who is there, and
// ends when the vectors that came cover every partition once.
//
// A worker that says nothing for longer than is normal, also when asked, is fenced: its leases go
// to others, and it takes part again when it has spoken. A partition that nobody holds any more is
// sent to others within the step, which is then late but never given up while a worker lives.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/bulk_synchronous.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/learned/lease_watch.h"
#include "scheduler/learned/steady_speeds.h"
#include "scheduler/placement/lease_plan.h"
#include "scheduler/placement/plan_pace.h"
#include "scheduler/step/adaptive_step.h"

namespace motley {

class LeaseScheduler final : public BulkSynchronous {
 public:
  explicit LeaseScheduler(SchedulerOptions options);  // Sane ones.

  SchedulerStats Stats() const override;

 private:
  void OnOther(const Event& event) override;
  void On(const LeaseProgress& event);
  void On(const LeaseReleased& event);
  void On(const LeaseSlice& event);
  void On(const LeaseVector& event);
  void On(const RowRejected& event);
  void On(const RowLate& event);

  // Between steps.
  void WentOn() override;
  bool WaitsForCopies() const override { return copies_wanted_; }
  Duration SendingForAnother(WorkerId worker) const override;
  bool PlanAnew() override;
  bool MayCallForAnother(const ShareRequest& request) const;
  Gain CallsForAnother(const LeasePlan& fresh, const std::vector<WorkerId>& candidates) const;
  Placement WantedOrThere() const;
  void Adopt(LeasePlan plan);

  // A step's beginning and end (lease_step.cc).
  void OpenStepNow() override;
  void PutPrimariesFirst();
  StepSetting Setting();
  StepWorker Predict(WorkerId worker, double speed);
  void PlaceWithoutCopies();
  void SendCopies();
  double EvenStepSeconds() const;
  double CopiesPerStep() const;
  struct CopiesRoom {
    std::vector<double> of;  // By worker,
    double all = 0;          // and of all together.
  };
  CopiesRoom RoomForCopies() const;
  void CancelAll() override;
  void CloseStep();
  void Measure(WorkerId worker);

  // Within it.
  bool InStep(WorkerId worker, StepId step) const;
  double Elapsed() const { return ToSeconds(now_ - opened_); }
  double SecondsOf(WorkerId worker) const { return watches_[worker].seconds; }
  void Tell(const StepEvent& event);
  void CarryOut(std::vector<StepCommand>& commands);
  void Carry(ExtendList& command);
  void Carry(RevokeList& command);
  void Carry(SendVector& command);
  void Carry(StepEnough& command);
  void Place(WorkerId worker, std::vector<PartitionId> partitions, DataWatch::Why why);
  bool WaitedForData(WorkerId worker) const;
  bool AsksWaitForData(WorkerId worker) const;
  bool LatencyIsDue(WorkerId worker) const;
  uint32_t OnTheirWay(WorkerId worker) const;
  void SetPatience(WorkerId worker);

  // Who is silent, comes back or is gone (lease_absence.cc).
  Time TickDue() const;  // Of the step's policy.
  Time StepDue() const override;
  Time AnswersDue() const override { return answers_due_; }
  void TickInStep() override;
  void JudgeSilence();
  void Spoke(WorkerId worker) override;
  void GiveWork(WorkerId worker) override;
  bool ComesEmptyHandedIntoALongStep(WorkerId worker) const;
  void VoidWork(WorkerId worker) override;
  void ReplaceAbsent() override;
  bool TakesPart(WorkerId worker) const;
  Time Due(WorkerId worker) const;
  WorkerId LongestStuck() const;
  bool IsRefused(WorkerId worker) const;
  bool NobodyElseMayTakePart() const;
  void GiveWorkToRefused();
  Duration AnswerLimit(WorkerId worker) const;
  Time WordDue(WorkerId worker) const;
  Time DeliveryDue(WorkerId worker) const;
  void WhenUndelivered(WorkerId worker);
  void CountMissed(WorkerId worker, Time since);
  bool Rests(WorkerId worker) const;
  Duration SendingOwed(WorkerId worker) const;
  bool MayWaitForData(WorkerId worker);
  bool OthersAreAwake(WorkerId worker) const;
  bool OthersCanDoItsPart(WorkerId worker);
  bool MayComeBack(WorkerId worker) const;
  void JudgeAnew();
  void WhenSilent(WorkerId worker);
  void Ping(WorkerId worker);
  void Fence(WorkerId worker, bool silent);
  void PlaceStranded();
  WorkerId TakerOf(PartitionId stranded, const std::vector<size_t>& more) const;

  DeadlineModel answers_;  // From a RevokeLease to its answer.
  std::vector<LeaseWatch> watches_;

  LeasePlan plan_;
  SteadySpeeds steady_;
  PlanPace pace_;
  Holders copies_;             // What is there. In a step, those that are to compute it come first.
  bool copies_wanted_ = true;  // Some are not where the plan wants them.

  std::unique_ptr<AdaptiveStep> open_;  // The last step that was opened.
  Time opened_{};
  Time told_{};               // Its last event.
  Time last_word_{};          // Of anybody, in it.
  Time last_slice_{};         // Of anybody's vector, in it.
  std::vector<bool> leased_;  // Partitions that were, in it.
  bool some_helpless_ = false;
  Time silence_due_ = kNever;  // Not after anybody's Due.
  Time answers_due_{};         // By when everybody should have said something.
};

// kInvalidArgument when leases cannot serve the options.
Result<std::unique_ptr<Scheduler>> MakeLeaseScheduler(const SchedulerOptions& options);

}  // namespace motley
