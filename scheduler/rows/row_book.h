// SPDX-License-Identifier: Apache-2.0
// Bookkeeping of one open step: rows that arrived, the workers on each row, and absent rows. Pure;
// it decides nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "coding/code_form.h"

namespace motley {

// When an answer may leave its worker (send_grants.h).
enum class Sending : uint8_t {
  kAtWill,   // As soon as it can.
  kUnasked,  // After a grant. The worker has not asked for it.
  kHeld,     // The worker has asked and waits. The row is in hand, and not due.
  kGranted
};

// A row given to a worker that has not answered it yet.
struct Assignment {
  WorkerId worker = 0;
  RowId row = 0;
  Time assigned{};
  Time due{};
  // Samples until the row is done: its own, and those of the rows before it.
  double samples = 0;
  double own_samples = 0;       // Samples of this row alone.
  double expected_seconds = 0;  // 0: the speed is not known.
  bool guessed = false;         // Its speed was not measured, or has just changed.
  uint32_t placed = 0;          // Partitions that were sent for it and those before it.
  bool copy = false;            // The row is on other lists, too.
  bool overdue = false;
  Sending sending = Sending::kAtWill;
  Duration patience{};  // due - assigned, while it is held.
  Time asked{};         // When the worker asked for a grant.
  Time granted{};       // When it got the grant.
  Time send_due{};      // When a granted answer is late.
};

class RowBook {
 public:
  // Starts a step, or the same step again.
  void Open(const CodeForm& code);

  size_t rows() const { return rows_.size(); }
  bool Arrived(RowId row) const { return rows_[row].arrived; }
  bool AllArrived() const { return not_arrived_ == 0; }

  // The owner of `row` is still busy with other work; from `due` on the row counts as absent. If it
  // has several owners, the latest `due` counts.
  void AwaitOwner(RowId row, Time due);
  void OwnerGone(RowId row);
  void Add(const Assignment& assignment);
  // How often `row` was given out. Planned copies count as one.
  uint32_t Attempts(RowId row) const { return rows_[row].attempts; }

  bool Pending(WorkerId worker) const { return worker < given_.size() && given_[worker] > 0; }
  bool Pending(WorkerId worker, RowId row) const { return Find(worker, row) != nullptr; }
  // The last assignment that the worker has not answered; null if there is none.
  const Assignment* LastOf(WorkerId worker) const;
  // True if a worker that is not overdue works on the row.
  bool InHand(RowId row) const { return rows_[row].pending > rows_[row].overdue; }
  const std::vector<Assignment>& pending() const { return pending_; }

  // The worker has asked for a grant: the row is not due before it has one. Does
  // nothing if the row was not to ask.
  void Hold(WorkerId worker, RowId row, Time now);
  // The worker gets the grant. The time for which the row was held does not count. The row is due
  // at `send_due` at the earliest.
  void Grant(WorkerId worker, RowId row, Time now, Time send_due);

  void MarkArrived(RowId row);
  void Unarrive(RowId row);  // The answer to the row is lost.
  // Remove and return the worker's assignments: one row, or all of them.
  std::optional<Assignment> Take(WorkerId worker, RowId row);
  std::vector<Assignment> TakeAll(WorkerId worker);
  // Takes the assignments of a row from all other workers. Their later rows are then due sooner by
  // its time, unless they may be working on it.
  std::vector<Assignment> TakeOthers(RowId row);
  std::vector<Assignment> TakeEverything();
  // The worker's assignment; null if it does not have the row in hand.
  const Assignment* Find(WorkerId worker, RowId row) const;

  // Returns true when an awaited row became overdue.
  bool MarkOverdue(Time now);
  // The next time at which MarkOverdue will find something, or kNever.
  Time NextDue() const;
  // By row: true if nobody is going to answer it in time.
  std::vector<bool> Absent() const;
  // True if every row has arrived or is absent.
  bool NothingInHand() const;

 private:
  struct Row {
    bool arrived = false;
    uint32_t attempts = 0;
    uint32_t pending = 0, overdue = 0;  // Assignments, and how many of them are overdue.
    Time owner_due = Time::min();       // min: no owner is awaited.

    bool IsAbsent() const { return !arrived && owner_due == Time::min() && pending <= overdue; }
  };

  void Count(const Assignment& taken);
  void Shorten(const Assignment& dropped, size_t place);
  // The assignment due at this time is awaited no more.
  void Settled(Time due) const { due_known_ = due_known_ && due > next_due_; }

  std::vector<Row> rows_;
  size_t not_arrived_ = 0;  // Number of rows.
  std::vector<Assignment> pending_;
  std::vector<uint32_t> given_;  // By worker: the number of its pending assignments.
  // Cached, because it is needed after every event and rarely changes.
  mutable Time next_due_ = kNever;
  mutable bool due_known_ = false;
};

}  // namespace motley
