// SPDX-License-Identifier: Apache-2.0
// Steps with exclusive leases. Data is placed so that every partition has copies; each step is
// worked off by an AdaptiveStep over the workers that are there, and ends when the vectors that
// came cover every partition once.
//
// A worker that says nothing for longer than is normal, also when asked, is evicted from the step:
// its leases go to others, and it takes part again when it has spoken. A partition that nobody
// holds any more is sent to others within the step, which is then late but never given up while a
// worker lives.
#pragma once

#include <utility>

#include "scheduler/leases/lease_plans.h"
#include "scheduler/leases/lease_work.h"
#include "scheduler/step_engine.h"

namespace motley {

class LeaseEngine final : public StepEngine {
 public:
  explicit LeaseEngine(JobState& job);

  Status Prepare() override { return plans_.Update(); }
  StepResult Open() override;
  StepResult OnEvent(const Event& event) override;
  void Gone(WorkerId worker) override;
  StepResult Replace() override;
  RefusalKind Refused(const RowRejected& event) override;
  void Cancel() override;
  Time Due() const override;
  Time AnswersDue() const override { return work_.answers_due(); }
  void Report(SchedulerStats& stats) const override;

 private:
  StepResult TakeResult() { return std::exchange(result_, StepResult()); }
  void On(const WorkerFree& event);
  void On(const LeaseProgress& event);
  void On(const LeaseReleased& event);
  void On(const LeaseSlice& event);
  void On(const LeaseVector& event);
  void On(const Tick&);
  void Spoke(WorkerId worker);

  void Tell(const StepEvent& event);
  void Close();
  void SendCopies();
  void GiveWork(WorkerId worker);
  void GiveWorkToFree();
  void PlaceStranded();
  void JudgeSilence();
  void JudgeAnew();
  bool OthersCanDoItsPart(WorkerId worker);
  void DoWithout(WorkerId worker, Time since, bool silent);
  void Evict(WorkerId worker, bool silent);

  JobState& job_;
  LeasePlans plans_;
  LeaseWork work_;
  bool some_helpless_ = false;  // Somebody is silent, and nobody is there to do its work.
  StepResult result_;           // What the call at hand returns.
};

}  // namespace motley
