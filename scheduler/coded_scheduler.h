// SPDX-License-Identifier: Apache-2.0
// The bulk-synchronous policy with gradient coding (MakeCodedScheduler). Every step is one plan's
// code over the workers that are there; it ends as soon as what arrived decodes, or, with code
// "approximate", when EarlyEnd says so.
//
// A worker has one row to do, or the list of rows that its plan gives it, which it is told of when
// the step opens. Rows whose workers are all overdue or gone are given to whoever is free next, the
// first answer wins and the others drop the row, and the step is late but never given up while a
// worker lives.
//
// Where rows are kept (CodeForm::kept_parts) a step has two halves. First everybody works off its
// list, and a row counts as arrived when those who have done it solve for it. Once all rows have,
// or none is in good hands any more, the step is opened anew with the code of the answers, whose
// rows are then assigned, awaited and replaced like any others (coded_kept.cc).
#pragma once

#include <optional>
#include <vector>

#include "coding/codes/partial_rows.h"
#include "coding/decode/replacement.h"
#include "scheduler/bulk_synchronous.h"
#include "scheduler/early_end.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/learned/steady_speeds.h"
#include "scheduler/open_step.h"
#include "scheduler/placement/plan.h"
#include "scheduler/placement/plan_pace.h"

namespace motley {

// kInvalidArgument when such a policy cannot serve the options.
Status CheckCodedOptions(const SchedulerOptions& options);

class CodedScheduler final : public BulkSynchronous {
 public:
  explicit CodedScheduler(SchedulerOptions options);

  SchedulerStats Stats() const override;

 private:
  void OnOther(const Event& event) override;
  void On(const RowArrived& event);
  void On(const RowLate& event);
  void On(const RowRejected& event);
  void On(const StepDecodable& event);

  // Between steps.
  void WentOn() override { went_on_ = true; }
  Duration SendingForAnother(WorkerId worker) const override;
  bool PlanAnew() override;
  bool WorthALook(const std::vector<WorkerId>& candidates, const std::vector<double>& speeds) const;
  Gain SpeedsCallForAnother(const Plan& fresh) const;
  bool SureToGain(const Plan& fresh) const;
  // As many of them as are to take part: those that do, unless others are much faster.
  std::vector<WorkerId> TakingPart(const std::vector<WorkerId>& ids) const;
  // To share by, each moved by so many standard errors.
  std::vector<double> Speeds(const std::vector<WorkerId>& ids, double errors = 0) const;
  void KeepPlaces(Plan& plan) const;
  void Adopt(Plan plan);

  // Inside a step (coded_step.cc).
  Time StepDue() const override;
  Time AnswersDue() const override;
  void TickInStep() override;
  bool Open(StepId step, RowId row) const;
  void OpenStepNow() override;
  void Ended(const WorkerFree& work) override;
  void CloseStep(bool approximately = false);
  bool GoOnWithout();
  void Probe();
  bool Trying(WorkerId worker) const;
  void EndTries(bool all);
  void Spoke(WorkerId worker) override;
  void GiveWork(WorkerId worker) override;
  void AssignOwn(WorkerId worker);
  void Assign(WorkerId worker, RowId row, bool as_planned = false);
  bool IsToDo(WorkerId worker, RowId row) const {
    return !open_.Arrived(row) && !open_.Pending(worker, row) && !Kept(worker, row);
  }
  std::vector<RowId> OwnToDo(WorkerId worker) const;
  void ReplaceAbsent() override;
  std::vector<RowId> RowsToReplace(const std::vector<bool>& absent);
  std::optional<WorkerId> PickHelper(RowId row) const;
  Time WorthSendingFrom(WorkerId helper, RowId row) const;
  void CancelAll() override;
  void CancelThose(const std::vector<Assignment>& assignments);
  void GiveUpOnCode();
  void Drop(const Assignment& assignment);
  void CountLate(const Assignment& assignment, bool bound_speed);
  void VoidWork(WorkerId worker) override;
  void Place(WorkerId worker, RowId row, Assignment& assignment);
  double SamplesToCompute(WorkerId worker, RowId row) const;
  double ExpectedSeconds(const Assignment& assignment) const;
  Duration Limit(const Assignment& assignment) const;

  // Kept rows (coded_kept.cc).
  const Plan& Work() const { return answers_ ? *answers_ : plan_; }  // Of the open step.
  bool Keeping() const { return !answers_ && plan_.code != nullptr && plan_.code->kept_parts > 0; }
  double AnswerPart() const override {
    return Work().code != nullptr ? 1.0 / std::max(1U, Work().code->parts) : 1;
  }
  std::optional<WorkerId> OwnerOf(WorkerId worker) const;
  bool Kept(WorkerId worker, RowId row) const;
  size_t PartitionsNotKept(WorkerId worker, RowId answer) const;
  void RowKept(const RowArrived& event);
  void ForgetKept(WorkerId worker);
  void HandOutKept();
  void AskWhenEnough();
  void AskForAnswers();
  void AnswerCame(const Assignment& done);
  uint32_t MissingPartitions(WorkerId worker, RowId row, const Plan& plan) const;

  std::optional<Replacement> replacement_;  // Of the code that was last asked about.
  OpenStepState open_;
  EarlyEnd early_;

  // By worker: the row of the plan that it was placed all of last.
  struct Placed {
    uint64_t plan = 0;
    RowId row = 0;
  };
  std::vector<Placed> placed_;
  std::vector<Time> tried_;  // By worker: since when Probe lets it end a copy; zero: it does not.
  uint64_t plan_number_ = 0;
  std::vector<Duration> answered_;  // By worker: since the assignment of what it ends next; or 0.
  bool went_on_ = false;            // From another policy: workers hold what suited that one.
  Plan plan_;
  SteadySpeeds steady_;
  PlanPace pace_;
  bool starved_ = false;       // A row must be replaced and nobody was free.
  Time replace_due_ = kNever;  // Of a row whose data would have to be sent: see WorthSendingFrom.
  Time verdict_due_ = kNever;  // Everything arrived; by then it should have decoded.

  PartialRows kept_;             // Of the open step, by member of the plan.
  std::optional<Plan> answers_;  // Of what they have done, once they are asked.
  DeadlineModel answer_deadlines_;
  RobustWindow answer_seconds_;  // That answers took beside computing.
};

}  // namespace motley
