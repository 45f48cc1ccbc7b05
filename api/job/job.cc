// SPDX-License-Identifier: Apache-2.0
#include "api/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "api/job/trainer.h"
#include "api/reports/event_stream.h"
#include "api/reports/saved_vector.h"
#include "api/request/begin_with.h"
#include "api/request/chosen_defaults.h"
#include "api/request/resume.h"
#include "api/workers/child_signal.h"
#include "api/workers/pipe_signal.h"
#include "api/workers/worker_environment.h"
#include "training/optimizers/optimizer.h"

namespace motley {
namespace {

// A server that `motley run` started finds in its environment what its options leave open.
Status TakeServerEnvironment(JobRequest& request) {
  MOTLEY_ASSIGN_OR_RETURN(const ServerEnvironment given, ReadServerEnvironment());
  if (request.open.listen && !given.listen.empty()) request.listen = given.listen;
  if (request.workers == 0 && given.workers > 0) {
    request.workers = std::max(given.workers, request.min_workers);
  }
  if (request.token.empty()) request.token = TokenFromEnvironment();
  request.address_file = given.address_file;
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<Job>> Job::Create(const motley_job_options& options) {
  MOTLEY_ASSIGN_OR_RETURN(JobRequest request, ReadJobOptions(options));
  if (request.role == MOTLEY_SERVER) MOTLEY_RETURN_IF_ERROR(TakeServerEnvironment(request));
  std::unique_ptr<Job> job(new Job(std::move(request)));
  if (job->request_.joins()) {
    MOTLEY_ASSIGN_OR_RETURN(job->task_, PlanWorker(job->request_));
  } else {
    MOTLEY_ASSIGN_OR_RETURN(job->plan_, PlanRealJob(job->request_));
    MOTLEY_RETURN_IF_ERROR(Optimizer::Create(job->request_.optimizer, 1).status());
    const std::string& every = job->request_.evaluate_every;
    if (!every.empty()) MOTLEY_RETURN_IF_ERROR(ParseInterval(every).status());
  }
  return job;
}

Status Job::CheckFresh(const char* what) const {
  if (state_ == State::kFresh) return Status::Ok();
  return Status::Conflict(fmt::format("{} the job has {}. Create another one", what,
                                      state_ == State::kRunning ? "begun" : "run already"));
}

Status Job::CheckEnded() const {
  if (request_.joins()) {
    return Status::Conflict("workers and shard servers have no results: their server has them");
  }
  if (state_ == State::kDone && outcome_.ended) return Status::Ok();
  return Status::Conflict(state_ == State::kDone
                              ? "the job ended before training began, and has no results"
                              : "the job has no results before motley_job_run has returned");
}

Status Job::SetTrainer(const motley_trainer& trainer) {
  MOTLEY_RETURN_IF_ERROR(CheckFresh("a trainer is set before"));
  if (request_.role == MOTLEY_SHARD_SERVER) {
    return Status::InvalidArgument("a shard server computes nothing, so it takes no trainer");
  }
  if (!request_.model.empty()) {
    return Status::InvalidArgument(fmt::format(
        "`model` {} and a trainer: a job trains one of them. Leave `model` out", request_.model));
  }
  if (!request_.init.empty() || request_.format != ModelFormat::kMotley) {
    return Status::InvalidArgument(
        fmt::format("`{}`: only a trainer knows what its parameters are. Leave it out",
                    request_.init.empty() ? "format" : "init"));
  }
  MOTLEY_ASSIGN_OR_RETURN(foreign_, MakeForeign(trainer, request_.role != MOTLEY_SERVER));
  return Status::Ok();
}

Status Job::SetEvents(motley_event_callback callback, void* context) {
  MOTLEY_RETURN_IF_ERROR(CheckFresh("events are asked for before"));
  callback_ = callback;
  context_ = context;
  return Status::Ok();
}

Status Job::Run() {
  MOTLEY_RETURN_IF_ERROR(CheckFresh("a job runs once, and"));
  state_ = State::kRunning;
  struct Ended {
    State& state;
    ~Ended() { state = State::kDone; }
  } ended{state_};
  // Not when the job is made: a program may fork between that and this, and two processes must not
  // share an event loop's descriptors.
  MOTLEY_ASSIGN_OR_RETURN(loop_, UvLoop::Create());
  MOTLEY_RETURN_IF_ERROR(stop_.Open(*loop_));
  if (stop_.thrown() > 0) return Status::Cancelled("stopped before it began");
  const PipeSignalGuard guard;
  std::optional<ChildSignalGuard> children;
  if (!request_.worker_command.empty()) children.emplace();
  return request_.joins() ? Work() : Train();
}

Status Job::Train() {
  Status thrown;  // By the callback, though it must not.
  EventStream events([&](const motley_event& event) { PassOn(event, thrown); }, loop_.get());
  JobRequest request = request_;
  if (!request.resume.empty()) {
    MOTLEY_ASSIGN_OR_RETURN(const auto saved, LoadResume(request, [&](const std::string& text) {
                              events.Tell(MOTLEY_EVENT_NOTICE, text);
                            }));
    MOTLEY_RETURN_IF_ERROR(TakeUp(*saved, request));
    MOTLEY_ASSIGN_OR_RETURN(plan_, PlanRealJob(request));
    plan_->job.resume = saved;
  }
  std::optional<InitialModel> initial;
  if (!request.init.empty()) {
    auto read = InitialModel::Read(request.init);
    if (!read.ok()) return read.status().WithContext("`init`");
    initial = std::move(read).value();
    MOTLEY_RETURN_IF_ERROR(TakeUp(*initial, request));
    MOTLEY_ASSIGN_OR_RETURN(plan_, PlanRealJob(request));
  }
  TrainingRun run({request, *plan_, foreign_, *loop_, stop_, events, metrics_, std::move(initial)});
  const Status ended = run.Run(outcome_);
  return thrown.ok() ? ended : thrown;
}

// An exception is kept in `thrown`, and ends the job.
void Job::PassOn(const motley_event& event, Status& thrown) {
  if (callback_ == nullptr || !thrown.ok()) return;
  thrown = Tell(event);
  if (!thrown.ok()) Stop();
}

Status Job::Tell(const motley_event& event) const {
  try {
    callback_(context_, &event);
    return Status::Ok();
  } catch (const std::exception& error) {
    return Status::Callback(fmt::format("the event callback threw an exception: {}", error.what()));
  } catch (...) {
    return Status::Callback("the event callback threw an exception");
  }
}

Status Job::Work() {
  Status thrown;  // By the callback, though it must not.
  EventStream events([&](const motley_event& event) { PassOn(event, thrown); }, loop_.get());
  WorkerTask task = *task_;
  task.node.tell = [&events](const std::string& text) { events.Tell(MOTLEY_EVENT_NOTICE, text); };
  const Status ended = RunWorkerTask(*loop_, stop_, task, foreign_);
  return thrown.ok() ? ended : thrown;
}

Result<motley_metrics> Job::metrics() const {
  if (request_.joins()) return CheckEnded();
  return metrics_.values();
}

Result<motley_worker_metrics> Job::WorkerMetrics(uint32_t worker) const {
  if (request_.joins()) return CheckEnded();
  return metrics_.Worker(worker);
}

Result<const char*> Job::report() const {
  MOTLEY_RETURN_IF_ERROR(CheckEnded());
  return outcome_.report.c_str();
}

Result<std::span<const float>> Job::parameters() const {
  MOTLEY_RETURN_IF_ERROR(CheckEnded());
  if (outcome_.job.parameters->empty()) {
    return Status::Unavailable(
        "the parameters are lost with the nodes that held them: a checkpoint may have older "
        "ones");
  }
  return std::span<const float>(*outcome_.job.parameters);
}

Status Job::Save(const std::string& path) const {
  MOTLEY_ASSIGN_OR_RETURN(const std::span<const float> values, parameters());
  if (foreign_ != nullptr) return SaveVector(path, values);
  return SaveModel(
      path, {outcome_.model, outcome_.class_labels, {}, outcome_.input_scale, outcome_.table},
      values, request_.format);
}

}  // namespace motley
