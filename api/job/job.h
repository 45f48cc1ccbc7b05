// SPDX-License-Identifier: Apache-2.0
// The implementation of a motley_job.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/job/training_run.h"
#include "api/loop/job_control.h"
#include "api/loop/job_thread.h"
#include "api/loop/loop_trainer.h"
#include "api/loop/step_exchange.h"
#include "api/reports/live_metrics.h"
#include "api/request/job_plan.h"
#include "api/stop_switch.h"
#include "api/workers/worker_run.h"
#include "base/status.h"
#include "motley/job.h"
#include "runtime/uv_loop.h"

namespace motley {

// One thread, except for what says any thread. state_ is atomic: it publishes the results of the
// thread that runs the job.
class Job {
 public:
  // Errors are those of motley_job_create.
  static Result<std::unique_ptr<Job>> Create(const motley_job_options& options);

  Status SetTrainer(const motley_trainer& trainer);
  Status SetLoop(const motley_loop& loop);
  Status SetGroups(std::vector<ParameterGroup> groups);
  Status SetEvents(motley_event_callback callback, void* context);
  Status Run();
  Status Start();
  bool running() const { return state_ == State::kRunning; }

  // Any thread.
  void Stop() noexcept { shared_.stop.Throw(); }
  // The job's result; none: it is still running. kConflict: Start was not called.
  Result<std::optional<Status>> Wait(double timeout_seconds);
  // kConflict: the job has no loop.
  Result<StepExchange*> exchange();
  // kConflict: a worker.
  Result<JobControl*> control();
  Result<uint64_t> CopyParameters(std::span<float> parameters);

  // kConflict for a worker, or before the run. Any thread has `metrics` during the run, too.
  Result<motley_metrics> metrics() const;
  Result<motley_worker_metrics> WorkerMetrics(uint32_t worker) const;
  Result<const char*> report() const;
  // The word of motley_job_failure.
  const char* failure() const { return state_ == State::kDone ? outcome_.failure : ""; }
  Result<std::span<const float>> parameters() const;
  Status Save(const std::string& path) const;

 private:
  enum class State { kFresh, kRunning, kDone };

  explicit Job(JobRequest request) : request_(std::move(request)) {}
  Status Begin();
  Status RunHere();
  Status Train();
  Status Work();
  void PassOn(const motley_event& event, Status& thrown);
  Status CheckFresh(const char* what) const;
  Status CheckBringsTrainer(const char* what) const;
  LoopDoor Door();
  Status ShowResumed(const SavedJob& saved);
  Status CheckEnded() const;

  JobRequest request_;
  std::atomic<State> state_ = State::kFresh;
  std::optional<JobPlan> plan_;     // Set for a server or an all-in-one job.
  std::optional<WorkerTask> task_;  // Set for a worker.
  std::shared_ptr<const ForeignTrainer> foreign_;
  struct {
    motley_event_callback callback = nullptr;
    void* context = nullptr;
  } events_;
  LiveMetrics metrics_;
  TrainingOutcome outcome_;
  struct {  // What threads other than the job's use. It outlives the event loop.
    StopSwitch stop;
    JobControl control;
    StepExchange exchange;
    bool has_loop = false;     // The caller's own. Both are set before the job starts.
    bool initializes = false;  // The loop gets MOTLEY_STEP_INITIALIZE.
  } shared_;
  std::unique_ptr<UvLoop> loop_;
  JobThread thread_;  // Last: it uses all others.
};

}  // namespace motley

// The opaque type of the C API.
struct motley_job {
  std::unique_ptr<motley::Job> job;
};
