// SPDX-License-Identifier: Apache-2.0
// Decides when a step of code "approximate" ends although it does not decode. Pure.
//
// A step ends when enough rows came, unless they lack a partition for the fourth step in a row.
// Without this exception, the data of a worker that is a little slower than the others would never
// count. With at least one row, a step also ends when
//   nobody works on another row any more, or
//   the user's deadline has passed (until then even late workers are awaited), or
//   without a deadline, all others are overdue, and have had the longest of their limits once
//   more. A cause that made all workers late is thus no reason to leave them out.
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

  bool wanted() const { return wanted_; }  // False: no step ends early.

  // A step over `code` begins, or begins again.
  void Open(std::shared_ptr<const CodeForm> code, Time now);
  void RowArrived(RowId row);
  // All rows that have not come are overdue; `patience` is the longest time that one of them had.
  void AllOverdue(Time now, Duration patience);

  // The step ended, early or decoded.
  void Close(bool approximately);

  bool any() const { return rows_there_ > 0; }
  // `at_work`: a worker has a row in hand, overdue or not.
  bool Enough(Time now, bool at_work) const;
  // When the result of Enough may change with time alone, or kNever.
  Time Due() const { return wanted_ && any() ? due_ : kNever; }

 private:
  static bool Owed(uint32_t missed);

  bool wanted_;
  uint32_t quorum_;
  Duration deadline_;
  std::vector<uint32_t> missed_;  // By partition: steps in a row without it.
  // The open step:
  std::shared_ptr<const CodeForm> code_;
  uint32_t enough_ = 0;  // Number of rows that are enough.
  uint32_t rows_there_ = 0;
  std::vector<bool> covered_;  // By partition.
  uint32_t owed_ = 0;          // Partitions not covered so far that must not be missed again.
  Time due_ = kNever;
};

}  // namespace motley
