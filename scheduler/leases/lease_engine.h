// SPDX-License-Identifier: Apache-2.0
// Steps with exclusive leases. Data is placed so that every partition has copies. An AdaptiveStep
// works each step off over the workers that are there. The step ends when the vectors that came
// cover every partition once.
//
// A worker that stays silent for longer than is normal, even after a request, is evicted from the
// step: its leases go to others, and it takes part again after its next message. A partition that
// nobody holds any more is sent to others within the step. Such a step is late, but is never given
// up while a worker lives.
#pragma once

#include <utility>

#include "scheduler/leases/lease_plans.h"
#include "scheduler/leases/lease_work.h"
#include "scheduler/step_engine.h"

namespace motley {

class LeaseEngine final : public StepEngine {
 public:
  LeaseEngine(JobState& job, UpdateState& update);

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
  UpdateState& update_;
  LeasePlans plans_;
  LeaseWork work_;
  bool some_helpless_ = false;  // A worker is silent, and nobody is there to do its work.
  StepResult result_;           // The result of the current call.
};

}  // namespace motley
