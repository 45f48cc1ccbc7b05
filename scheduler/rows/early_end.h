// SPDX-License-Identifier: Apache-2.0
// When a step of code "approximate" ends although it does not decode. Pure.
//
// With so many rows as are enough, unless they lack a partition for the fourth step in a row: who
// is only a little slower than the others would otherwise be last in every step, and its data count
// for nothing. Or when there is one at least, and
//   nobody works on another any more, or
//   the deadline that the user gave has passed (until then even those that are late are awaited),
//   or, without one, all others are overdue, and have been given once more the time after which the
//   last of them was: what made everybody late is no reason to do without anybody.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "coding/code_form.h"
#include "coding/schemes.h"
#include "scheduler/scheduler.h"

namespace motley {

class EarlyEnd {
 public:
  explicit EarlyEnd(const SchedulerOptions& options)
      : wanted_(!SchemeNamed(options.code).exact),
        quorum_(options.quorum),
        deadline_(options.step_deadline) {}

  bool wanted() const { return wanted_; }  // If not, no step ends so.

  // A step over `code` begins, or begins again.
  void Open(std::shared_ptr<const CodeForm> code, Time now);
  void RowArrived(RowId row);
  // All that have not come are overdue; `patience` is how long one of them was given, the longest.
  void AllOverdue(Time now, Duration patience);

  // It ended, with those rows or with all that it takes.
  void Close(bool approximately);

  bool any() const { return rows_there_ > 0; }
  // `at_work`: somebody works on a row, overdue or not.
  bool Enough(Time now, bool at_work) const;
  // When Enough may change by itself, or kNever.
  Time Due() const { return wanted_ && any() ? due_ : kNever; }

 private:
  static bool Owed(uint32_t missed);

  bool wanted_;
  uint32_t quorum_;
  Duration deadline_;
  std::vector<uint32_t> missed_;  // By partition: steps in a row that it was not in.
  // Of the open step.
  std::shared_ptr<const CodeForm> code_;
  uint32_t enough_ = 0;  // Rows.
  uint32_t rows_there_ = 0;
  std::vector<bool> covered_;  // Partitions.
  uint32_t owed_ = 0;          // Of those that are not, the ones not to be missed again.
  Time due_ = kNever;
};

}  // namespace motley
