// SPDX-License-Identifier: Apache-2.0
#include "api/job/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <optional>

#include "api/job/trainer.h"
#include "api/loop/loop_trainer.h"
#include "api/reports/event_stream.h"
#include "api/reports/saved_vector.h"
#include "api/request/begin_with.h"
#include "api/request/chosen_defaults.h"
#include "api/request/resume.h"
#include "api/workers/child_signal.h"
#include "api/workers/pipe_signal.h"
#include "api/workers/worker_environment.h"
#include "training/optimizers/optimizer.h"
#include "training/optimizers/optimizer_rule.h"

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

// The server keeps the vector if updates are the caller's own. A worker has no plan.
Status KeepVectorHere(const JobRequest& request, const ForeignTrainer& foreign,
                      std::optional<JobPlan>& plan) {
  using Holders = JobOptions::Holders;
  if (!foreign.apply || !plan || plan->job.holders == Holders::kServer) return Status::Ok();
  if (plan->job.holders == Holders::kChosen) {
    plan->job.holders = Holders::kServer;
    plan->job.shard_servers = 0;
    plan->job.star_kept = notice::StarKept::Why::kOwnUpdates;
    return Status::Ok();
  }
  return Status::InvalidArgument(
      fmt::format("`reduce` {}: updates of your own need the whole vector at the server. Use "
                  "`reduce` star",
                  request.reduce));
}

Status Tell(motley_event_callback callback, void* context, const motley_event& event) {
  try {
    callback(context, &event);
    return Status::Ok();
  } catch (const std::exception& error) {
    return Status::Callback(fmt::format("the event callback threw an exception: {}", error.what()));
  } catch (...) {
    return Status::Callback("the event callback threw an exception");
  }
}

}  // namespace

Result<std::unique_ptr<Job>> Job::Create(const motley_job_options& options) {
  MOTLEY_ASSIGN_OR_RETURN(JobRequest request, ReadJobOptions(options));
  if (request.role == MOTLEY_SERVER) MOTLEY_RETURN_IF_ERROR(TakeServerEnvironment(request));
  std::unique_ptr<Job> job(new Job(std::move(request)));
  if (job->request_.allowed_steps > 0) job->shared_.control.SetGate(job->request_.allowed_steps);
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

// `what`: "trainer" or "loop".
Status Job::CheckBringsTrainer(const char* what) const {
  MOTLEY_RETURN_IF_ERROR(CheckFresh(fmt::format("a {} is set before", what).c_str()));
  if (request_.role == MOTLEY_SHARD_SERVER) {
    return Status::InvalidArgument(
        fmt::format("a shard server computes nothing, so it takes no {}", what));
  }
  if (!request_.model.empty()) {
    return Status::InvalidArgument(fmt::format(
        "`model` {} and a {}: a job trains one of them. Leave `model` out", request_.model, what));
  }
  if (!request_.init.empty() || request_.format != ModelFormat::kMotley) {
    return Status::InvalidArgument(
        fmt::format("`{}`: only a {} knows what its parameters are. Leave it out",
                    request_.init.empty() ? "format" : "init", what));
  }
  return Status::Ok();
}

Status Job::SetTrainer(const motley_trainer& trainer) {
  MOTLEY_RETURN_IF_ERROR(CheckBringsTrainer("trainer"));
  MOTLEY_ASSIGN_OR_RETURN(auto made, MakeForeign(trainer, request_.role != MOTLEY_SERVER,
                                                 [this] { return metrics_.decoded_loss(); }));
  MOTLEY_RETURN_IF_ERROR(KeepVectorHere(request_, *made, plan_));
  foreign_ = std::move(made);
  shared_.has_loop = shared_.initializes = false;
  return Status::Ok();
}

Status Job::SetLoop(const motley_loop& loop) {
  MOTLEY_RETURN_IF_ERROR(CheckBringsTrainer("loop"));
  const bool computes = request_.role != MOTLEY_SERVER;
  const bool serves = request_.role != MOTLEY_WORKER;
  MOTLEY_ASSIGN_OR_RETURN(auto made, MakeLoopTrainer(loop, serves, computes, Door()));
  MOTLEY_RETURN_IF_ERROR(KeepVectorHere(request_, *made, plan_));
  foreign_ = std::move(made);
  shared_.has_loop = true;
  shared_.initializes = foreign_->initialize != nullptr;
  return Status::Ok();
}

Status Job::SetGroups(std::vector<ParameterGroup> groups) {
  MOTLEY_RETURN_IF_ERROR(CheckFresh("groups are set before"));
  if (request_.joins()) return Status::Ok();
  OptimizerOptions options = request_.optimizer;
  options.groups = std::move(groups);
  MOTLEY_RETURN_IF_ERROR(Optimizer::Create(options, 0).status());
  shared_.control.SetGroups(options.groups.size());
  request_.optimizer = plan_->job.optimizer = options;
  return Status::Ok();
}

LoopDoor Job::Door() {
  return {shared_.exchange, [this] { return shared_.stop.thrown() > 0; },
          [this] { return metrics_.decoded_loss(); }};
}

// The loop must know where it goes on. What does not fit is refused later, with its reason.
Status Job::ShowResumed(const SavedJob& saved) {
  if (!shared_.initializes) return Status::Ok();
  const bool own = foreign_->apply != nullptr;
  const size_t vectors = OptimizerVectors(plan_->job.optimizer.name);
  const size_t state = own ? foreign_->state_count : vectors * foreign_->parameter_count;
  const bool fits = saved.parameters->size() == foreign_->parameter_count &&
                    saved.about.own_rule.value_or(own) == own &&
                    saved.optimizer_state->size() == state;
  return fits ? OfferResumed(Door(), saved, own || foreign_->show != nullptr) : Status::Ok();
}

Status Job::SetEvents(motley_event_callback callback, void* context) {
  MOTLEY_RETURN_IF_ERROR(CheckFresh("events are asked for before"));
  events_.callback = callback;
  events_.context = context;
  return Status::Ok();
}

// Takes the job for one run.
Status Job::Begin() {
  State fresh = State::kFresh;
  if (state_.compare_exchange_strong(fresh, State::kRunning)) return Status::Ok();
  return CheckFresh("a job runs once, and");
}

Status Job::Run() {
  if (shared_.has_loop) {
    return Status::Conflict(
        "motley_job_run: the job has a loop of yours, and would wait on this thread for its steps. "
        "Use motley_job_start");
  }
  MOTLEY_RETURN_IF_ERROR(Begin());
  return RunHere();
}

Status Job::Start() {
  MOTLEY_RETURN_IF_ERROR(Begin());
  Status started =
      thread_.Start([this] { return RunHere(); }, [this] { shared_.exchange.Close(); });
  if (started.ok()) {
    shared_.exchange.Open();
  } else {
    state_ = State::kFresh;
  }
  return started;
}

Result<std::optional<Status>> Job::Wait(double timeout_seconds) {
  if (!thread_.started()) {
    return Status::Conflict("the job was not started by motley_job_start");
  }
  return thread_.Wait(timeout_seconds);
}

Status Job::RunHere() {
  struct Ended {
    Job& job;
    ~Ended() {
      job.state_ = State::kDone;
      // The results have the parameters now.
      job.shared_.control.newest()->Set(std::make_shared<const std::vector<float>>(), 0);
    }
  } ended{*this};
  const auto run = [this]() -> Status {
    // Not when the job is made: a program may fork between that and this, and two processes must
    // not share an event loop's descriptors.
    MOTLEY_ASSIGN_OR_RETURN(loop_, UvLoop::Create());
    MOTLEY_RETURN_IF_ERROR(shared_.stop.Open(*loop_));
    if (shared_.stop.thrown() > 0) return Status::Cancelled("stopped before it began");
    const PipeSignalGuard guard;
    std::optional<ChildSignalGuard> children;
    if (!request_.worker_command.empty()) children.emplace();
    return request_.joins() ? Work() : Train();
  };
  const Status status = run();
  if (!status.ok() && *outcome_.failure == '\0') {
    outcome_.failure = status.code() == StatusCode::kCancelled ? "stopped" : "other";
  }
  return status;
}

Status Job::Train() {
  Status thrown;  // By the callback, though it must not.
  EventStream events([&](const motley_event& event) { PassOn(event, thrown); }, loop_.get());
  JobRequest request = request_;
  if (!request.resume.empty()) {
    const auto loaded = LoadResume(
        request, [&](const std::string& text) { events.Tell(MOTLEY_EVENT_NOTICE, text); });
    if (IsLost(loaded.status())) outcome_.failure = "checkpoint";
    MOTLEY_ASSIGN_OR_RETURN(const auto saved, loaded);
    MOTLEY_RETURN_IF_ERROR(TakeUp(*saved, request));
    shared_.control.SetGroups(request.optimizer.groups.size());
    MOTLEY_ASSIGN_OR_RETURN(plan_, PlanRealJob(request));
    plan_->job.resume = saved;
    MOTLEY_RETURN_IF_ERROR(ShowResumed(*saved));
  }
  std::optional<InitialModel> initial;
  if (!request.init.empty()) {
    auto read = InitialModel::Read(request.init);
    if (!read.ok()) return read.status().WithContext("`init`");
    initial = std::move(read).value();
    MOTLEY_RETURN_IF_ERROR(TakeUp(*initial, request));
    MOTLEY_ASSIGN_OR_RETURN(plan_, PlanRealJob(request));
  }
  // Plans that a checkpoint or a model changed do not know the trainer.
  if (foreign_ != nullptr) MOTLEY_RETURN_IF_ERROR(KeepVectorHere(request, *foreign_, plan_));
  TrainingRun run({request, *plan_, foreign_, *loop_, shared_.stop, events, metrics_,
                   std::move(initial), shared_.control});
  const Status ended = run.Run(outcome_);
  return thrown.ok() ? ended : thrown;
}

// An exception is kept in `thrown`, and ends the job.
void Job::PassOn(const motley_event& event, Status& thrown) {
  if (events_.callback == nullptr || !thrown.ok()) return;
  thrown = Tell(events_.callback, events_.context, event);
  if (!thrown.ok()) Stop();
}

Status Job::Work() {
  Status thrown;  // By the callback, though it must not.
  EventStream events([&](const motley_event& event) { PassOn(event, thrown); }, loop_.get());
  WorkerTask task = *task_;
  task.node.tell = [&events](const std::string& text) { events.Tell(MOTLEY_EVENT_NOTICE, text); };
  const Status ended = RunWorkerTask(*loop_, shared_.stop, task, foreign_);
  return thrown.ok() ? ended : thrown;
}

Result<StepExchange*> Job::exchange() {
  if (shared_.has_loop) return &shared_.exchange;
  return Status::Conflict("the job has no loop of yours: call motley_job_set_loop before");
}

Result<JobControl*> Job::control() {
  if (!request_.joins()) return &shared_.control;
  return Status::Conflict("workers and shard servers do not steer their job: its server does");
}

Result<uint64_t> Job::CopyParameters(std::span<float> parameters) {
  MOTLEY_ASSIGN_OR_RETURN(JobControl* const control, this->control());
  Result<uint64_t> copied = control->CopyNewest(parameters);
  const bool ended = state_ == State::kDone && outcome_.ended;
  if (copied.ok() || !ended || copied.code() != StatusCode::kUnavailable) return copied;
  MOTLEY_ASSIGN_OR_RETURN(const std::span<const float> values, this->parameters());
  MOTLEY_RETURN_IF_ERROR(CheckRoom(parameters.size(), values.size()));
  std::copy(values.begin(), values.end(), parameters.begin());
  const ValidationSummary& judged = outcome_.job.validation;
  return judged.kept_best ? judged.best_version : outcome_.job.steps;
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
