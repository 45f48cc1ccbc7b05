// SPDX-License-Identifier: Apache-2.0
// Notices silence: of workers that the plan then does without, of all workers in a step, and steps
// that take far longer than usual. Pure; reports through JobState.
#pragma once

#include "scheduler/job_state.h"
#include "scheduler/learned/deadline.h"
#include "scheduler/long_wait.h"

namespace motley {

class Silence {
 public:
  explicit Silence(JobState& job);  // Which must outlive it.

  // Between steps: leaves those out of the plan that have been silent for too long.
  void LeaveOut();

  void StepBegins();                             // For the first time.
  void StepOpens() { wait_.Restart(job_.now); }  // Perhaps again.
  void Heard() { wait_.Restart(job_.now); }      // Somebody spoke while it is open.
  void StepCommitted();

  // When there is something to report.
  Time LongStepDue() const { return long_step_due_; }
  Time WaitDue() const { return wait_.Due(); }
  void ReportLongStep();
  void ReportSilenceOfAll();

 private:
  JobState& job_;
  LongWait wait_;              // For a message of any worker.
  RobustWindow step_seconds_;  // The last steps took.
  Time step_since_{};          // The open step's beginning, the first one.
  Time long_step_due_ = kNever;
};

}  // namespace motley
