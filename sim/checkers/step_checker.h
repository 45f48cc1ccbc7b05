// SPDX-License-Identifier: Apache-2.0
// I1: the version grows by one per commit, and each step is applied once and in order. A step whose
// update was taken back was not applied.
// I2: a step is committed only if its answers decode; it ends as approximate only if they do not.
// I3: a row counts at most once per step, while the step is open, from a worker that was asked.
// I14: each gradient is of the version that it is applied to.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/job_event.h"
#include "sim/checkers/kept_form.h"
#include "sim/checkers/violations.h"

namespace motley {

class StepChecker final : public JobObserver {
 public:
  // With `whole_rows` a vector is one slice, so a step decodes from whole rows. Otherwise slices of
  // rows that never came whole may count, and I2 can only be checked for the rows that were asked
  // for. `first_step` is the first step of this run of the job.
  StepChecker(Violations& violations, bool whole_rows, StepId first_step = 0)
      : violations_(violations), whole_rows_(whole_rows), next_(first_step) {}

  // Sums may stay at workers, so that steps are applied without being decoded here.
  void ExpectNoSums() { sums_here_ = false; }
  void OnEvent(const JobEvent& event) override;
  StepId applied() const { return next_; }  // Steps applied, including those before this run.

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::CommandGiven& event) { form_.See(event.command); }
  void On(const event::StepOpened& event);
  void On(const event::RowAssigned& event);
  void On(const event::RowArrived& event);
  void On(const event::StepApproximated& event);
  void On(const event::StepDecoded& event);
  void On(const event::StepApplied& event);
  void On(const event::UpdateTakenBack& event);

  enum class State { kClosed, kOpen, kDecoded };

  Violations& violations_;
  const bool whole_rows_;
  bool sums_here_ = true;
  StepId next_;  // The version of the parameters.
  State state_ = State::kClosed;
  KeptForm form_;
  bool approximate_ = false;  // The open step ended approximately.
  std::vector<bool> arrived_;
  std::vector<bool> assigned_rows_;
  std::vector<std::pair<RowId, WorkerId>> assigned_;  // Linear search: one per row, few more.
  std::vector<std::pair<RowId, WorkerId>> kept_;      // Rows that workers reported as kept.
};

}  // namespace motley
