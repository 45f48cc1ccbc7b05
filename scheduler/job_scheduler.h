// SPDX-License-Identifier: Apache-2.0
// The scheduler of a job. It consists of parts with one task each, and decides which part acts
// when. Events go down; results come back as values.
//
//   JobState    the workers that are there and what was learned (membership, transfers)
//   Start       how the job waits for workers
//   Silence     workers that send nothing, and for how long
//   SyncPolicy  which updates come next, and from which versions they start
//   Lane        an update that is open (UpdateState), and how it is worked off: rows of a code, or
//               leases (StepEngine)
#pragma once

#include <memory>
#include <vector>

#include "scheduler/job_state.h"
#include "scheduler/lanes.h"
#include "scheduler/silence.h"
#include "scheduler/start.h"
#include "scheduler/sync/sync_policy.h"

namespace motley {

class JobScheduler final : public Scheduler {
 public:
  // kInvalidArgument when the scheme cannot serve the options, with what to change.
  // With options.turns > 1, `batches` are those that turns share.
  static Result<std::unique_ptr<JobScheduler>> Make(const SchedulerOptions& options,
                                                    SharedBatches batches = {});
  JobScheduler(const JobScheduler&) = delete;  // Its parts refer to each other.

  void OnEvent(const Event& event, Time now, std::vector<Command>& out) override;
  Time Deadline() const override;
  SchedulerStats Stats() const override;

  // No update is open: the last one has enough answers, but StepApplied has not come yet.
  bool BetweenSteps() const { return phase_ == Phase::kRunning && !lanes_.AnyOpen(); }
  // Goes on with another scheme, and keeps the workers, what they hold and what was learned about
  // them. The options may differ from the present ones only in what describes the scheme.
  // kInvalidArgument when that scheme cannot serve; nothing has changed then. Precondition:
  // BetweenSteps().
  Status ChangeTo(const SchedulerOptions& options);

  const JobState& state() const { return job_; }

 private:
  enum class Phase : uint8_t {
    kStarting,  // Waits for workers.
    kRunning,   // Updates are open, or wait for StepApplied.
    kEnded
  };

  JobScheduler(const SchedulerOptions& options, SharedBatches batches);

  void On(const WorkerJoined& event);
  void On(const WorkerFree& event);
  void On(const WorkerLost& event);
  void On(const WorkerNotComing& event);
  void On(const RowRejected& event);
  void On(const StepDecodable& event);
  void On(const StepApplied& event);
  void On(const UpdateLost& event);
  void On(const Tick& event);
  void On(const LinkMeasured&) {}  // Transfers use it.
  void OnMessage(WorkerId worker, const Event& event);

  void Hear(WorkerId worker);
  void Void(WorkerId worker);
  void TryStart();
  void OpenUpdates();
  void Begin(Lane& lane);
  void OpenStep(Lane& lane);
  void PassOn(const Event& event);
  void Replace();
  void Take(Lane& lane, const StepResult& result);
  void AfterRefusal(Lane& lane, const RowRejected& event);
  void End(JobEnd end);

  JobState job_;
  Start start_;
  Silence silence_;
  const std::unique_ptr<SyncPolicy> sync_;
  Lanes lanes_;
  Phase phase_ = Phase::kStarting;
  bool clock_runs_ = false;  // The first event came.
};

// kInvalidArgument for options that no scheme can serve, with what to change.
Status CheckJobOptions(const SchedulerOptions& options);

}  // namespace motley
