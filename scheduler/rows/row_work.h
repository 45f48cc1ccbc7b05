// SPDX-License-Identifier: Apache-2.0
// The rows of the open step in the workers' hands: gives them out with the data that they need,
// predicts when each will be answered, learns from the answers, and takes rows back. RowEngine
// decides which worker gets which row. Pure.
#pragma once

#include <memory>
#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/rows/kept_rows.h"
#include "scheduler/rows/row_book.h"
#include "scheduler/rows/row_plans.h"
#include "scheduler/update_state.h"

namespace motley {

class RowWork {
 public:
  // The arguments must outlive it. `update` is the one whose work it gives out.
  RowWork(JobState& job, const UpdateState& update, const RowPlans& plans);

  // The step begins, or begins again, without any rows given out.
  void Open();
  // The second half begins, with the code of the answers to kept rows.
  Status OpenAnswers(const std::vector<bool>& awake);
  // The plan of the open half.
  const Plan& plan() const;
  bool InStep(StepId step, RowId row) const;
  RowBook& book() { return book_; }
  const RowBook& book() const { return book_; }
  KeptRows& kept() { return kept_; }

  // The worker's own rows that have not arrived, and that it neither has in hand nor keeps.
  std::vector<RowId> OwnToDo(WorkerId worker) const;
  void AssignOwn(WorkerId worker);
  // From now on, answers of workers to their own rows wait for grants, or not.
  void SetWaits(bool waits) { waits_ = waits; }
  void Assign(WorkerId worker, RowId row, bool as_planned = false);

  // The row arrived from this worker. Learns from the time it took, and frees other workers with
  // the row.
  void Arrived(WorkerId worker, RowId row);
  // The worker keeps the row now.
  void Kept(WorkerId worker, RowId row);
  // The answer came too late to count.
  void CameLate(WorkerId worker, RowId row);
  // The answer was refused. Returns true if the worker had the row in hand.
  bool TakeRefused(WorkerId worker, RowId row);
  // Takes all of the worker's rows back. `is_told`: the worker is notified of each.
  void TakeBack(WorkerId worker, bool is_told);
  // The worker ended a piece of work. Learns what the answer took besides computing.
  void Ended(const WorkerFree& work);
  // Takes all rows back. `late`: rows without an answer count as late.
  void TakeAllBack(bool late);
  // Drops all rows, which are kept or no longer needed, before OpenAnswers. Returns the workers
  // with overdue rows.
  std::vector<WorkerId> DropAll();

  // Gives a row to a worker without a share, to measure it. The worker may end the row although
  // others have answered, within a limit.
  void Try(WorkerId worker, RowId row);
  // Cancels trials that took too long, or all of them.
  void EndTries(bool all);

 private:
  // A row that a worker begins before its step opens, after an answer that counts.
  struct Ahead {
    StepId step = 0;
    std::shared_ptr<const CodeForm> code;  // Null: it begins none.
    RowId row = 0;

    bool Is(StepId other, const std::vector<CodeEntry>& entries) const;
  };
  struct Seat {
    // The row of that plan whose partitions were all placed last.
    uint64_t placed_plan = 0;
    RowId placed_row = 0;
    Duration answered{};  // Time from its assignment to the answer of the row that it ends next;
                          // zero: not informative.
    Time tried{};         // Start of its trial; zero: none.
    Ahead ahead;
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
  const UpdateState& update_;
  const RowPlans& plans_;
  RowBook book_;
  KeptRows kept_;
  std::vector<Seat> seats_;  // By worker.
  bool waits_ = false;
};

}  // namespace motley
