// SPDX-License-Identifier: Apache-2.0
// I1: the version grows by one per commit, each step is applied once and in order.
// I2: a step is committed only when what arrived decodes, or as approximate when it does not.
// I3: a row counts at most once per step, while the step is open, from somebody who was asked.
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
  // `whole_rows`: a vector is one slice, so that decodable means enough whole rows. Otherwise
  // slices of rows that never came whole may count, and only the rows asked for can be judged.
  // `first_step`: of this run of the job.
  StepChecker(Violations& violations, bool whole_rows, StepId first_step = 0)
      : violations_(violations), whole_rows_(whole_rows), next_(first_step) {}

  void OnEvent(const JobEvent& event) override;
  StepId applied() const { return next_; }  // Steps, with those before this run.

 private:
  void On(const event::WorkerJoined& event);
  void On(const event::CommandGiven& event) { form_.See(event.command); }
  void On(const event::StepOpened& event);
  void On(const event::RowAssigned& event);
  void On(const event::RowArrived& event);
  void On(const event::StepApproximated& event);
  void On(const event::StepDecoded& event);
  void On(const event::StepApplied& event);

  enum class State { kClosed, kOpen, kDecoded };

  Violations& violations_;
  const bool whole_rows_;
  StepId next_;  // The version of the parameters.
  State state_ = State::kClosed;
  KeptForm form_;
  bool approximate_ = false;  // As the open step was said to be.
  std::vector<bool> arrived_;
  std::vector<bool> assigned_rows_;
  std::vector<std::pair<RowId, WorkerId>> assigned_;  // One each, and few more.
  std::vector<std::pair<RowId, WorkerId>> kept_;      // Said to be done, where rows are kept.
};

}  // namespace motley
