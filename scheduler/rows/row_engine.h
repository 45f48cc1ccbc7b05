// SPDX-License-Identifier: Apache-2.0
// Steps with gradient coding. Every step is one plan's code over the workers that are there; it
// ends as soon as what arrived decodes, or, with a scheme that is not exact, when EarlyEnd says so.
//
// A worker has one row to do, or the list of rows that its plan gives it, which it is told of when
// the step opens. Rows whose workers are all overdue or gone are given to a worker that is free,
// the first answer wins and the others drop the row, and the step is late but never given up while
// a worker lives. Rows that are kept are answered in a second half of the step (kept_rows.h).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "coding/decode/replacement.h"
#include "scheduler/rows/early_end.h"
#include "scheduler/rows/row_plans.h"
#include "scheduler/rows/row_work.h"
#include "scheduler/step_engine.h"

namespace motley {

class RowEngine final : public StepEngine {
 public:
  explicit RowEngine(JobState& job);

  Status Prepare() override { return plans_.Update(); }
  StepResult Open() override;
  StepResult OnEvent(const Event& event) override;
  void Gone(WorkerId worker) override;
  StepResult Replace() override;
  RefusalKind Refused(const RowRejected& event) override;
  void Cancel() override;
  Time Due() const override;
  Time AnswersDue() const override;
  void Report(SchedulerStats& stats) const override;

 private:
  StepResult TakeResult() { return std::exchange(result_, StepResult()); }
  void On(const WorkerFree& event);
  void On(const WorkerProgress& event) { Spoke(event.worker); }
  void On(const RowArrived& event);
  void On(const RowLate& event);
  void On(const StepDecodable&) { Close(/*approximately=*/false); }
  void On(const Tick&);

  void GiveWork(WorkerId worker);
  void Spoke(WorkerId worker);
  void TryWorkersWithoutShare();
  void ReplaceAbsent();
  void GiveToHelpers(const std::vector<RowId>& rows);
  std::vector<RowId> RowsToReplace(const std::vector<bool>& absent);
  void AskWhenEnough();
  void AskForAnswers();
  bool GoOnWithout();
  void Close(bool approximately);
  void GiveUpOnCode();

  JobState& job_;
  RowPlans plans_;
  RowWork work_;
  EarlyEnd early_;
  std::optional<Replacement> replacement_;  // Answers for the code that was asked about last.
  bool starved_ = false;                    // A row must be replaced and nobody was free.
  Time replace_due_ = kNever;  // A row is worth sending its data for; see WorthSendingFrom.
  Time verdict_due_ = kNever;  // Everything arrived; by then it should have decoded.
  StepResult result_;          // What the call at hand returns.
};

}  // namespace motley
