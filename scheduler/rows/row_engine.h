// SPDX-License-Identifier: Apache-2.0
// Steps with gradient coding. Every step uses the code of one plan over the workers that are there.
// It ends as soon as what arrived decodes. With a scheme that is not exact, it also ends when
// EarlyEnd says so.
//
// A worker has one row, or the list of rows that its plan gives it, and learns of them when the
// step opens. A row whose workers are all overdue or gone is given to a free worker. The first
// answer wins, and the other workers drop the row. Such a step is late, but is never given up while
// a worker lives. If each worker has updates of its own, such an update begins again instead. Rows
// that workers keep are answered in a second half of the step (kept_rows.h). On thin links, answers
// that the step does not need are held (send_grants.h).
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "coding/decode/replacement.h"
#include "scheduler/rows/early_end.h"
#include "scheduler/rows/row_plans.h"
#include "scheduler/rows/row_work.h"
#include "scheduler/rows/send_grants.h"
#include "scheduler/step_engine.h"

namespace motley {

class RowEngine final : public StepEngine {
 public:
  // With a plan whose workers hold the data of their rows, steps may be opened without Prepare().
  RowEngine(JobState& job, UpdateState& update, Plan plan = {});

  Status Prepare() override {
    if (update_.part) plans_.Take(*update_.part);
    return plans_.Update();
  }
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
  void On(const RowReady& event);
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
  UpdateState& update_;
  RowPlans plans_;
  RowWork work_;
  EarlyEnd early_;
  SendGrants grants_;
  std::optional<Replacement> replacement_;  // The answers for the code that was checked last.
  bool starved_ = false;                    // A row must be replaced and no worker was free.
  // From then on a row is worth sending its data for; see WorthSendingFrom.
  Time replace_due_ = kNever;
  Time verdict_due_ = kNever;  // Everything arrived; the step should decode by then.
  StepResult result_;          // The result of the current call.
};

}  // namespace motley
