// SPDX-License-Identifier: Apache-2.0
// How the steps of a job are worked off. JobScheduler hands events down and follows the results; an
// engine never calls back. One engine at a time serves the steps. Another may follow it between two
// steps, over the same JobState.
//
// Example of one step: Prepare() succeeds; Open() gives out work and returns kOpen;
// OnEvent(RowArrived) returns kOpen; OnEvent(StepDecodable) returns kClosed, after the CommitStep
// and the cancellations. When a worker dies in between, Gone(worker) takes its work from the books,
// and Replace() gives it to others.
#pragma once

#include <memory>

#include "base/status.h"
#include "scheduler/job_state.h"
#include "scheduler/update_state.h"

namespace motley {

// The state of the open step after a call.
struct StepResult {
  enum class Kind : uint8_t {
    kOpen,     // It goes on.
    kClosed,   // It was committed.
    kRestart,  // It has to begin again, under the present plan.
    kFailed    // The job cannot go on; `why` says the reason.
  };
  Kind kind = Kind::kOpen;
  Status why;
};

// How a refused answer counts.
enum class RefusalKind : uint8_t {
  kNot,      // Does not count; it belongs to a refusal that was counted.
  kEarlier,  // Counts against its worker; the open step does not miss it.
  kInStep    // The open step misses it.
};

class StepEngine {
 public:
  virtual ~StepEngine() = default;

  // Called before every step: makes a plan if JobState::plan_void is set, or if another plan is
  // worth its price. An error ends the job.
  virtual Status Prepare() = 0;
  // Begins the step, or begins it again.
  virtual StepResult Open() = 0;
  // Handles a worker's message, open step or not, after JobState took note of it. Handles a Tick
  // and StepDecodable only while a step is open.
  virtual StepResult OnEvent(const Event& event) = 0;
  // The worker and its data are gone, or a new process without data is in its place.
  virtual void Gone(WorkerId worker) = 0;
  // Gives work of the open step that nobody does any more to others.
  virtual StepResult Replace() = 0;
  // Takes a refused answer from the books.
  virtual RefusalKind Refused(const RowRejected& event) = 0;
  // Cancels all work of the open step, which is about to begin again or to wait for workers.
  virtual void Cancel() = 0;
  // When the open step needs a Tick.
  virtual Time Due() const = 0;
  // Until then silence of all workers is normal.
  virtual Time AnswersDue() const = 0;
  // Adds what is known about workers and the plan to the job's totals.
  virtual void Report(SchedulerStats& stats) const = 0;
};

// kInvalidArgument, with what to change, when no engine can serve the options.
Status CheckStepOptions(const SchedulerOptions& options);
// Makes the engine for the scheme of job.options, which were checked. It works on whatever update
// `update` is. Both must outlive it.
std::unique_ptr<StepEngine> MakeStepEngine(JobState& job, UpdateState& update);
// Makes an engine whose updates consist of one row over all partitions, which `owner` computes. If
// it cannot, the update begins again with another worker.
std::unique_ptr<StepEngine> MakeStepEngine(JobState& job, UpdateState& update, WorkerId owner);

}  // namespace motley
