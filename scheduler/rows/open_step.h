// SPDX-License-Identifier: Apache-2.0
// Bookkeeping of the one step that is open: which rows arrived, who works on which, and which rows
// are absent. Pure; decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "coding/code_form.h"

namespace motley {

// A row given to a worker that has not answered it yet.
struct Assignment {
  WorkerId worker = 0;
  RowId row = 0;
  Time assigned{};
  Time due{};
  // Until it is done: of this row, and of those that its worker does before it.
  double samples = 0;
  double own_samples = 0;       // Of this row alone.
  double expected_seconds = 0;  // 0: speed not known.
  bool guessed = false;         // The speed behind it was not measured, or has just changed.
  uint32_t placed = 0;          // Partitions that were sent for it and those before it.
  bool copy = false;            // Others have the row on their lists, too.
  bool overdue = false;
};

class OpenStepState {
 public:
  // Starts a step, or the same one again.
  void Open(StepId step, const CodeForm& code);

  StepId step() const { return step_; }
  size_t rows() const { return rows_.size(); }
  bool Arrived(RowId row) const { return rows_[row].arrived; }
  bool AllArrived() const { return not_arrived_ == 0; }

  // The owner of `row` is still busy with something else; from `due` on the row counts as absent,
  // from the latest where there are several.
  void AwaitOwner(RowId row, Time due);
  void OwnerGone(RowId row);
  void Add(const Assignment& assignment);
  // How often `row` was given out; copies as planned are once and nothing.
  uint32_t Attempts(RowId row) const { return rows_[row].attempts; }

  bool Pending(WorkerId worker) const { return worker < given_.size() && given_[worker] > 0; }
  bool Pending(WorkerId worker, RowId row) const;
  // The last that the worker was given and has not answered; null: none.
  const Assignment* LastOf(WorkerId worker) const;
  // Somebody works on the row and is not overdue.
  bool InHand(RowId row) const { return rows_[row].pending > rows_[row].overdue; }
  const std::vector<Assignment>& pending() const { return pending_; }

  void MarkArrived(RowId row);
  void Unarrive(RowId row);  // What came of it is lost.
  // Removes and returns what the worker was given: one row, or all of them.
  std::optional<Assignment> Take(WorkerId worker, RowId row);
  std::vector<Assignment> TakeAll(WorkerId worker);
  // Everybody else's assignments of a row. What their workers were to do after it comes so much
  // sooner, unless it may be what they are doing.
  std::vector<Assignment> TakeOthers(RowId row);
  std::vector<Assignment> TakeEverything();

  // True when something that was awaited became overdue.
  bool MarkOverdue(Time now);
  // The next time at which MarkOverdue will find something, or kNever.
  Time NextDue() const;
  // Rows that nobody is answering in time, by row.
  std::vector<bool> Absent() const;
  // Every row has arrived or is absent.
  bool NothingInHand() const;

 private:
  struct Row {
    bool arrived = false;
    uint32_t attempts = 0;
    uint32_t pending = 0, overdue = 0;  // Assignments; of those, so many.
    Time owner_due = Time::min();       // min: nobody is awaited for it.
  };

  void Count(const Assignment& taken);
  void Shorten(const Assignment& dropped, size_t place);
  // What was due at this time is awaited no more.
  void Settled(Time due) const { due_known_ = due_known_ && due > next_due_; }

  StepId step_ = 0;
  std::vector<Row> rows_;
  size_t not_arrived_ = 0;  // Rows.
  std::vector<Assignment> pending_;
  std::vector<uint32_t> given_;  // By worker: its pending ones.
  // Asked for after every event, and mostly the same.
  mutable Time next_due_ = kNever;
  mutable bool due_known_ = false;
};

}  // namespace motley
