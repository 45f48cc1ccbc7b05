// SPDX-License-Identifier: Apache-2.0
// The rows of the open step in the workers' hands: gives them out, with the data that they need,
// predicts when each will be answered, learns from the answers, and takes rows back. Which row goes
// to whom, RowEngine decides. Pure.
#pragma once

#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/rows/kept_rows.h"
#include "scheduler/rows/open_step.h"
#include "scheduler/rows/row_plans.h"

namespace motley {

class RowWork {
 public:
  RowWork(JobState& job, const RowPlans& plans);  // Which must outlive it.

  // The step begins, or begins again, with nothing in anybody's hands.
  void Open();
  // Its second half begins, with the code of the answers to what was kept.
  Status OpenAnswers(const std::vector<bool>& awake);
  // The plan of the half that is open.
  const Plan& plan() const;
  bool InStep(StepId step, RowId row) const;
  OpenStepState& book() { return book_; }
  const OpenStepState& book() const { return book_; }
  KeptRows& kept() { return kept_; }

  // The worker's own rows that have not arrived, and that it neither has in hand nor keeps.
  std::vector<RowId> OwnToDo(WorkerId worker) const;
  void AssignOwn(WorkerId worker);
  void Assign(WorkerId worker, RowId row, bool as_planned = false);

  // The row has arrived, from this worker: learns from what it took, and frees whoever else has it.
  void Arrived(WorkerId worker, RowId row);
  // The worker keeps the row now.
  void Kept(WorkerId worker, RowId row);
  // The answer came too late to count.
  void CameLate(WorkerId worker, RowId row);
  // A refused answer. Returns whether the worker had the row in hand.
  bool TakeRefused(WorkerId worker, RowId row);
  // Takes all that a worker has in hand, which learns of each row if it `is_told`.
  void TakeBack(WorkerId worker, bool is_told);
  // It ended a piece of work: learns what the answer took besides computing.
  void Ended(const WorkerFree& work);
  // Takes everything back. `late`: rows that are not answered count as late.
  void TakeAllBack(bool late);
  // Drops all rows, which are kept or not needed any more, before OpenAnswers. Returns whose rows
  // were overdue.
  std::vector<WorkerId> DropAll();

  // Gives a row to a worker that has no share, to measure it: as long as that may take, it is let
  // end the row although others have answered.
  void Try(WorkerId worker, RowId row);
  // Cancels tries that took too long, or all of them.
  void EndTries(bool all);

 private:
  struct Seat {
    // The row of that plan all of whose partitions were placed last.
    uint64_t placed_plan = 0;
    RowId placed_row = 0;
    Duration answered{};  // Since the assignment of what it ends next; zero: it says nothing.
    Time tried{};         // Since then; zero: it is not.
  };

  Seat& SeatOf(WorkerId worker);
  bool IsTried(WorkerId worker) const;
  void Place(WorkerId worker, RowId row, Assignment& assignment);
  void Predict(Assignment& assignment) const;
  Duration Limit(const Assignment& assignment) const;
  void Drop(const Assignment& assignment);
  void CountLate(const Assignment& assignment, bool bound_speed);
  void CancelOnce(const std::vector<Assignment>& assignments);

  JobState& job_;
  const RowPlans& plans_;
  OpenStepState book_;
  KeptRows kept_;
  std::vector<Seat> seats_;  // By worker.
};

}  // namespace motley
