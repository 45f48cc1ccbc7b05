// SPDX-License-Identifier: Apache-2.0
// How the steps of a job are worked off. JobScheduler hands events down and does what the results
// say; an engine never calls back. One engine serves the steps at a time, and another may follow it
// between two steps, over the same JobState.
//
// Example, of one step: Prepare() is fine; Open() gives out work and returns kOpen;
// OnEvent(RowArrived) returns kOpen, OnEvent(StepDecodable) returns kClosed after the CommitStep
// and the cancellations. When a worker dies in between, Gone(worker) takes its work from the books,
// and Replace() gives it to others.
#pragma once

#include <memory>

#include "base/status.h"
#include "scheduler/job_state.h"

namespace motley {

// What became of the open step.
struct StepResult {
  enum class Kind : uint8_t {
    kOpen,     // It goes on.
    kClosed,   // It was committed.
    kRestart,  // It has to begin again, under the plan that there is now.
    kFailed    // The job cannot go on: `why`.
  };
  Kind kind = Kind::kOpen;
  Status why;
};

// How a refused answer counts.
enum class RefusalKind : uint8_t {
  kNot,      // Not at all: it belongs to a refusal that was counted.
  kEarlier,  // Against its worker; the open step does not miss it.
  kInStep    // The open step misses it.
};

class StepEngine {
 public:
  virtual ~StepEngine() = default;

  // Before every step: makes a plan when JobState::plan_void says so, or another is worth its
  // price. An error ends the job.
  virtual Status Prepare() = 0;
  // Begins the step, or begins it again.
  virtual StepResult Open() = 0;
  // A worker's message, after JobState took note of it, whether a step is open or not; a Tick and
  // StepDecodable while one is.
  virtual StepResult OnEvent(const Event& event) = 0;
  // The worker and what it held are gone, or a new process with nothing is in its place.
  virtual void Gone(WorkerId worker) = 0;
  // Gives to others what nobody is working on any more in the open step.
  virtual StepResult Replace() = 0;
  // Takes a refused answer from the books.
  virtual RefusalKind Refused(const RowRejected& event) = 0;
  // Cancels all work of the open step, which is about to begin again or to wait for workers.
  virtual void Cancel() = 0;
  // When the open step wants a Tick.
  virtual Time Due() const = 0;
  // Until when silence of everybody is normal.
  virtual Time AnswersDue() const = 0;
  // Adds what is known of workers and the plan to the job's totals.
  virtual void Report(SchedulerStats& stats) const = 0;
};

// kInvalidArgument, with what to change, when no engine can serve the options.
Status CheckStepOptions(const SchedulerOptions& options);
// The one that serves the scheme of job.options, which were checked. `job` must outlive it.
std::unique_ptr<StepEngine> MakeStepEngine(JobState& job);

}  // namespace motley
