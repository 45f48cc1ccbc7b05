// SPDX-License-Identifier: Apache-2.0
// The bulk-synchronous policy with gradient coding (MakeCodedScheduler). Every step is one plan's
// code over the workers that are there; it ends as soon as what arrived decodes.
//
// A worker never has more than one row to do. Rows whose worker is overdue or gone are given to
// whoever is free next, the first answer wins, and the step is late but never given up while a
// worker lives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scheduler/deadline.h"
#include "scheduler/long_wait.h"
#include "scheduler/membership.h"
#include "scheduler/open_step.h"
#include "scheduler/plan.h"
#include "scheduler/scheduler.h"
#include "scheduler/steady_speeds.h"

namespace motley {

class CodedScheduler final : public Scheduler {
 public:
  CodedScheduler(SchedulerOptions options, RowsToReplace rows_to_replace);

  void OnEvent(const Event& event, Time now, std::vector<Command>& out) override;
  Time Deadline() const override;
  SchedulerStats Stats() const override;

 private:
  enum class Phase {
    kStarting,    // Waits for workers.
    kRunning,     // A step is open.
    kCommitting,  // It decoded; waits for StepApplied.
    kEnded
  };

  void On(const WorkerJoined& event);
  void On(const WorkerFree& event);
  void On(const WorkerProgress& event);
  void On(const WorkerLost& event);
  void On(const WorkerNotComing& event);
  void On(const RowArrived& event);
  void On(const RowLate& event);
  void On(const RowRejected& event);
  void On(const StepDecodable& event);
  void On(const StepApplied& event);
  void On(const Tick& event);

  // The start (coded_start.cc).
  void WaitForWorkers();
  void TryStart();
  bool Begun() const { return step_ > options_.first_step; }  // A step of this run is done.
  bool AllAreHere() const;                                    // Of those that may still come.
  void Begin();
  void SayWhoIsAwaited();

  // Between steps, end.
  void NextStep();
  void LeaveOutTheSilent();
  bool PlanAnew();  // False: ended, because nothing serves.
  bool WorthALook(const std::vector<WorkerId>& candidates, const std::vector<double>& speeds) const;
  bool SpeedsChanged(const std::vector<WorkerId>& candidates,
                     const std::vector<double>& speeds) const;
  bool SpeedsCallForAnother(const Plan& fresh) const;
  bool SureToGain(const Plan& fresh) const;
  void Adopt(Plan plan);
  void End(Status status);

  // Inside a step (coded_step.cc).
  void Hear(WorkerId worker);
  Time SilenceDue() const;  // When silence of all is worth telling.
  void SayThatAllAreSilent();
  bool Open(StepId step, RowId row) const;
  void OpenStepNow();
  void CloseStep();
  void Probe();
  void GiveWork(WorkerId worker);
  void Assign(WorkerId worker, RowId row);
  void ReplaceAbsent();
  std::optional<WorkerId> PickHelper(RowId row) const;
  void Restart();
  void GiveUpOnCode();
  void AfterRejection(const RowRejected& event);
  bool Diverged(const RowRejected& event);
  void CountLate(const Assignment& assignment, bool bound_speed);
  void Cancel(WorkerId worker);
  void VoidWork(WorkerId worker);
  uint32_t MissingPartitions(WorkerId worker, RowId row) const;
  bool RejectedInStep(WorkerId worker) const;
  std::string LiveWords() const;
  void Say(std::string text);

  SchedulerOptions options_;
  RowsToReplace rows_to_replace_;
  Membership members_;
  DeadlineModel deadlines_;
  OpenStepState open_;

  Phase phase_ = Phase::kStarting;
  Time now_{};
  bool started_clock_ = false;
  Time start_deadline_{};
  bool start_extended_ = false;
  std::vector<bool> not_coming_;         // Of the expected, by index.
  LongWait wait_;                        // For workers, or inside a step for a word from any.
  std::vector<Command>* out_ = nullptr;  // Of the event being handled.

  Plan plan_;
  SteadySpeeds steady_;
  std::vector<WorkerId> judged_;  // Whom the last look at the speeds saw, and how fast.
  std::vector<double> judged_speeds_;
  uint32_t gains_ = 0;     // Looks in a row at which another plan was worth it.
  bool plan_void_ = true;  // Membership changed since it was made.
  StepId step_ = 0;        // Open, or to be opened next.
  StepId planned_at_ = 0;  // Step from which the plan is used.
  bool recheck_ = false;   // Rows are absent since the step opened; judge them at the next tick.
  bool starved_ = false;   // A row must be replaced and nobody was free.
  Time verdict_due_ = kNever;       // Everything arrived; by then it should have decoded.
  std::vector<WorkerId> rejected_;  // Senders of refused answers in this step, one entry each time.
  SchedulerStats totals_;           // Without the workers.
};

}  // namespace motley
