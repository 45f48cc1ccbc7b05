// SPDX-License-Identifier: Apache-2.0
// Rows that workers keep until it is known what is wanted of them (CodeForm::kept_parts). A step
// then has two halves. First everybody works off its list, and a row counts as arrived when those
// who have done it solve for it. Once all rows have, or none is in good hands any more, the step is
// opened a second time with the code of the answers, whose rows are assigned, awaited and replaced
// like any others. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/status.h"
#include "coding/codes/partial_rows.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/placement/plan.h"

namespace motley {

class KeptRows {
 public:
  KeptRows();

  // The first half begins, or begins again, under a plan that keeps rows; of any other plan nothing
  // is kept. The plan must outlive the step.
  void Open(const Plan& plan);
  // The first half runs.
  bool keeping() const { return plan_ != nullptr && !answers_; }
  // The plan of the second half, once it was opened; null before.
  const Plan* answers() const { return answers_ ? &*answers_ : nullptr; }

  // The worker has kept the row in this step.
  bool Has(WorkerId worker, RowId row) const;
  // It keeps the row now. Returns whether that solves for the row.
  bool Done(WorkerId worker, RowId row);
  // What the worker kept is gone. Returns the rows that were solved and are not any more.
  std::vector<RowId> Lose(WorkerId worker);
  // Opens the second half. `awake`, one flag per member of the plan: who can be expected to answer.
  Status Ask(const std::vector<bool>& awake);
  // Partitions of an answer that the worker has to compute first, because it kept none of them.
  size_t NotKept(WorkerId worker, RowId answer) const;

  // How long answers take, learned from those that came: `computed` tells whether something had to
  // be computed first.
  void SawAnswer(Duration took, double expected_seconds, uint32_t placed, bool computed);
  double UsualSeconds() const { return seconds_.Limit(0); }  // Beside computing.
  Duration Limit(double expected_seconds, uint32_t placed) const {
    return deadlines_.Limit(expected_seconds, placed);
  }

 private:
  // Its place in the plan; none for a worker that was only measured.
  std::optional<WorkerId> OwnerOf(WorkerId worker) const;

  const Plan* plan_ = nullptr;
  PartialRows kept_;             // By member of the plan.
  std::optional<Plan> answers_;  // The answers to what they have done.
  DeadlineModel deadlines_;
  RobustWindow seconds_;
};

}  // namespace motley
