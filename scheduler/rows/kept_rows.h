// SPDX-License-Identifier: Apache-2.0
// Rows that workers keep until the server knows what it needs of them (CodeForm::kept_parts). A
// step then has two halves. In the first half every worker works off its list, and a row counts as
// arrived when the workers that have done it solve for it. The second half begins once all rows
// have arrived, or no worker in time has one in hand. The step is then opened again with the code
// of the answers. Their rows are assigned, awaited and replaced like any others. Pure.
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

  // The first half begins, or begins again. Nothing is kept under a plan without kept rows. The
  // plan must outlive the step.
  void Open(const Plan& plan);
  // True in the first half.
  bool keeping() const { return plan_ != nullptr && !answers_; }
  // The plan of the second half, once it was opened; null before.
  const Plan* answers() const { return answers_ ? &*answers_ : nullptr; }

  // The worker has kept the row in this step.
  bool Has(WorkerId worker, RowId row) const;
  // The worker keeps the row now. Returns true if that solves for the row.
  bool Done(WorkerId worker, RowId row);
  // The worker's kept rows are gone. Returns the rows that were solved and no longer are.
  std::vector<RowId> Lose(WorkerId worker);
  // Opens the second half. `awake` has one flag per member of the plan: true if it is expected to
  // answer.
  Status Ask(const std::vector<bool>& awake);
  // Partitions of an answer that the worker has to compute first, because it kept none of them.
  size_t NotKept(WorkerId worker, RowId answer) const;

  // Learns from an answer that came how long answers take. `computed`: something had to be computed
  // first.
  void SawAnswer(Duration took, double expected_seconds, uint32_t placed, bool computed);
  double UsualSeconds() const { return seconds_.Limit(0); }  // Without computing.
  Duration Limit(double expected_seconds, uint32_t placed) const {
    return deadlines_.Limit(expected_seconds, placed);
  }

 private:
  // Its place in the plan; none for a worker that only had trials.
  std::optional<WorkerId> OwnerOf(WorkerId worker) const;

  const Plan* plan_ = nullptr;
  PartialRows kept_;             // By member of the plan.
  std::optional<Plan> answers_;  // The answers to the rows that they have done.
  DeadlineModel deadlines_;
  RobustWindow seconds_;
};

}  // namespace motley
