// SPDX-License-Identifier: Apache-2.0
// The implementation of a motley_job.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "api/job/training_run.h"
#include "api/reports/live_metrics.h"
#include "api/request/job_plan.h"
#include "api/stop_switch.h"
#include "api/workers/worker_run.h"
#include "base/status.h"
#include "motley/job.h"
#include "runtime/uv_loop.h"

namespace motley {

// One thread, except for Stop.
class Job {
 public:
  // Errors are those of motley_job_create.
  static Result<std::unique_ptr<Job>> Create(const motley_job_options& options);

  Status SetTrainer(const motley_trainer& trainer);
  Status SetEvents(motley_event_callback callback, void* context);
  Status Run();
  bool running() const { return state_ == State::kRunning; }
  void Stop() noexcept { stop_.Throw(); }

  // kConflict for a worker, or before the run (`metrics` also works during the run).
  Result<motley_metrics> metrics() const;
  Result<motley_worker_metrics> WorkerMetrics(uint32_t worker) const;
  Result<const char*> report() const;
  Result<std::span<const float>> parameters() const;
  Status Save(const std::string& path) const;

 private:
  enum class State { kFresh, kRunning, kDone };

  explicit Job(JobRequest request) : request_(std::move(request)) {}
  Status Train();
  Status Work();
  void PassOn(const motley_event& event, Status& thrown);
  Status Tell(const motley_event& event) const;
  Status CheckFresh(const char* what) const;
  Status CheckEnded() const;

  const JobRequest request_;
  State state_ = State::kFresh;
  std::optional<JobPlan> plan_;     // Set for a server or an all-in-one job.
  std::optional<WorkerTask> task_;  // Set for a worker.
  std::shared_ptr<const ForeignTrainer> foreign_;
  motley_event_callback callback_ = nullptr;
  void* context_ = nullptr;
  LiveMetrics metrics_;
  TrainingOutcome outcome_;
  StopSwitch stop_;  // Outlives the loop.
  std::unique_ptr<UvLoop> loop_;
};

}  // namespace motley

// The opaque type of the C API.
struct motley_job {
  std::unique_ptr<motley::Job> job;
};
