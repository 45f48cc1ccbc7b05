// SPDX-License-Identifier: Apache-2.0
// Notices silent workers (which the plan then leaves out), steps in which all workers are silent,
// and steps that take far longer than usual. Pure; it reports through JobState.
#pragma once

#include "scheduler/job_state.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/long_wait.h"

namespace motley {

class Silence {
 public:
  explicit Silence(JobState& job);  // `job` must outlive it.

  // Called between steps: takes workers that were silent for too long out of the plan.
  void LeaveOut();

  void StepBegins();                             // Called once per step.
  void StepOpens() { wait_.Restart(job_.now); }  // May be called again in a step.
  void Heard() { wait_.Restart(job_.now); }      // A message came while the step is open.
  void StepCommitted();

  // The times of the next reports.
  Time LongStepDue() const { return long_step_due_; }
  Time WaitDue() const { return wait_.Due(); }
  void ReportLongStep();
  void ReportSilenceOfAll();

 private:
  JobState& job_;
  LongWait wait_;              // For a message of any worker.
  RobustWindow step_seconds_;  // How long the last steps took.
  Time step_since_{};          // When the open step opened first.
  Time long_step_due_ = kNever;
};

}  // namespace motley
