// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/server_job.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <variant>

#include "base/counted.h"
#include "coding/schemes.h"
#include "runtime/links/messages.h"
#include "runtime/memory_need.h"
#include "runtime/saving/saved_job.h"
#include "runtime/worker_names.h"

namespace motley {
namespace {

uint64_t FirstStep(const JobOptions& options) {
  return options.resume != nullptr ? options.resume->step : 0;
}

JobHistory HistoryBefore(const JobOptions& options) {
  return options.resume != nullptr ? options.resume->about.history : JobHistory();
}

template <typename Message>
void Send(Transport& transport, const Session& to, StepId step, const Message& message) {
  SendControl(transport, to.peer, to.HeaderFor(FrameKind::kControl, step), message);
}

}  // namespace

ServerJob::ServerJob(Env env, const JobOptions& options, const DataSource& data,
                     JobObserver* observer, Parts parts)
    : env_(env),
      options_(options),
      schedule_(std::move(parts.schedule)),
      shape_(data.shape()),
      observer_(observer != nullptr ? *observer : no_observer_),
      job_(options.job_id),
      model_(std::move(parts.model)),
      validator_(std::move(parts.validator)),
      auditor_(env.loop, env.audit_device != nullptr ? *env.audit_device : env.device, options,
               model_->gradient(), data, schedule_,
               {[this](const Auditor::Finding& finding) { OnAudit(finding); },
                [this](const Status& why) { Say(notice::Trouble{why}); },
                [this] {
                  watch_.Progress();  // An update may have waited.
                  TellOfHeldCancels();
                  FinishWhenQuiet();
                }}),
      blocks_(data, schedule_.partition_sizes()),
      record_(options.workers, FirstStep(options), HistoryBefore(options)),
      checkpointer_(MakeCheckpointer(std::move(parts.about))),
      vector_probe_(env.loop, env.transport, model_->route().Answers(options.slice_length),
                    [this](WorkerId worker, Duration vector) { OnLinkMeasured(worker, vector); }),
      peers_(env.loop, env.transport, options.workers, options.token, job_,
             {[this](WorkerId worker) { return Welcome(worker); },
              [this](WorkerId worker) { OnJoined(worker); },
              [this](WorkerId worker, const Status& why) { OnWorkerLost(worker, why); },
              [this](PeerId peer) {
                if (inbox_ != nullptr) inbox_->Closed(peer);
              },
              [this](WorkerId worker) {
                if (!began_) pump_.Raise(WorkerNotComing{worker});  // Later nobody waits for it.
              },
              [this](const JobNotice& notice) { Say(notice); }}),
      pump_(env.loop, std::move(parts.scheduler),
            [this](const Command& command) { Execute(command); }),
      watch_(
          env.loop, options.step_limit, options.workers,
          [this] {
            // The job waits for its own work here, and not for workers.
            if (auditor_.holding() || validator_->holding()) watch_.Progress();
            return QueuedBytes();
          },
          [this] { OnStuck(); }),
      sessions_(options.workers) {
  if (options_.resume != nullptr) {
    audits_.failures = options_.resume->about.history.audit_failures;
  }
  options_.resume = nullptr;  // These two may be as large as the model.
  options_.first_parameters = nullptr;
  answers_ = std::make_unique<Answers>(
      options.workers, static_cast<uint32_t>(schedule_.partition_sizes().size()),
      Answers::Hooks{
          [this](Event event) { OnAnswer(std::move(event)); },
          [this](WorkerId worker, StepId step, std::span<const PartitionId> covered) {
            observer_.OnEvent(event::VectorArrived{step, worker, covered, env_.loop.Now()});
          },
          [this] { return model_->TakeSum(); },
          [this] { return remote_ != nullptr ? remote_->version() : model_->version(); }});
  answers_->SetLog(&auditor_.log());
  if (options_.holders == JobOptions::Holders::kWorkers) remote_ = MakeRemote();
  inbox_ = std::make_unique<ServerInbox>(
      ServerInbox::Parts{env_.loop, env_.transport, options_, peers_, sessions_, *answers_,
                         vector_probe_, record_, pump_, watch_, observer_, remote_.get()},
      ServerInbox::Hooks{[this](const Status& why) { End(why); }, [this] { return ended_; }});
}

std::unique_ptr<Checkpointer> ServerJob::MakeCheckpointer(JobDescription about) {
  if (options_.checkpoint.every == 0) return nullptr;
  return std::make_unique<Checkpointer>(
      env_.loop, *env_.disk, options_, std::move(about),
      Checkpointer::Hooks{
          [this](SnapshotDone done) { TakeSnapshot(std::move(done)); },
          [this] { return History(); },
          [this](uint64_t steps) { observer_.OnEvent(event::CheckpointSafe{steps}); },
          [this](const JobNotice& notice) { Say(notice); }, [this] { FinishWhenQuiet(); }});
}

JobHistory ServerJob::History() const {
  JobHistory history = record_.History();
  history.max_decode_error = auditor_.max_decode_error();
  history.audited_steps = auditor_.audited_steps();
  history.audit_failures = audits_.failures;
  return history;
}

ServerJob::~ServerJob() {
  env_.transport.SetReceiver(nullptr);
  vector_probe_.Disturb();  // Sessions that end now must not have others measured.
}

void ServerJob::Start(Finished finished) {
  finished_ = std::move(finished);
  model_->SetIdle([this] { FinishWhenQuiet(); });
  validator_->SetHooks(
      {[this](const JudgedVersion& judged) { observer_.OnEvent(event::VersionJudged{judged}); },
       [this](const Status& why) { OnNotJudged(why); }, [this] { FinishWhenQuiet(); }});
  model_->versions().SetCrowded([this] { return FreeVersion(); });
  env_.transport.SetReceiver(inbox_.get());
  // The last run may have died between its last checkpoint and its goodbyes.
  if (record_.steps() >= options_.steps) End(Status::Ok());
  pump_.Raise(Tick{});  // Starts the scheduler's clock.
  FinishWhenQuiet();    // Stop may have been called before.
}

void ServerJob::DoNotExpect(WorkerId worker) { pump_.Raise(WorkerNotComing{worker}); }

void ServerJob::Stop(const std::string& reason) { End(Status::Cancelled(reason)); }

wire::AcceptT ServerJob::Welcome(WorkerId worker) const {
  wire::AcceptT accept;
  accept.worker = worker;
  accept.job = job_;
  accept.seed = options_.seed;
  accept.batch = options_.batch;
  accept.partition_sizes = schedule_.partition_sizes();
  accept.features = shape_.features;
  accept.classes = shape_.classes;
  accept.sparse = shape_.sparse;
  accept.model = options_.model.name;
  accept.class_weights = options_.model.class_weights;
  accept.dropout = options_.model.dropout;
  accept.slice_length = options_.slice_length;
  accept.shard_ends = model_->route().ends();
  accept.foreign = options_.foreign != nullptr;
  if (accept.foreign) {
    accept.model.clear();
    accept.parameter_count = model_->parameter_count();
  }
  accept.step = record_.steps();
  accept.steps = options_.steps;
  accept.beats = true;
  accept.listen = remote_ != nullptr;
  accept.workers = options_.workers;
  return accept;
}

void ServerJob::OnJoined(WorkerId worker) {
  if (ended_) return;  // The worker only receives the goodbye.
  const Session::Shared shared{env_.loop,        env_.transport,
                               blocks_,          vector_probe_,
                               model_->shards(), [this](const Status& why) { End(why); }};
  sessions_[worker] = std::make_unique<Session>(
      shared, worker, peers_.PeerOf(worker), peers_.HeaderTo(worker, FrameKind::kControl),
      [this, worker](uint64_t bytes, Duration time) {
        observer_.OnEvent(event::RoundTrip{worker, bytes, time, env_.loop.Now()});
      });
  record_.Joined(worker, peers_.NameOf(worker));
  observer_.OnEvent(event::WorkerJoined{worker, peers_.NameOf(worker)});
  if (options_.name_arrivals) {
    Say(peers_.OriginOf(worker));
  }
  pump_.Raise(WorkerJoined{worker, peers_.IncarnationOf(worker)});
}

void ServerJob::OnWorkerLost(WorkerId worker, const Status& why) {
  answers_->orders().Forget(worker);
  auditor_.log().Forget(worker);
  std::erase_if(held_, [worker](const WorkersCancel& held) { return held.worker == worker; });
  const Incarnation incarnation =
      sessions_[worker] != nullptr ? sessions_[worker]->header.incarnation : 0;
  sessions_[worker] = nullptr;
  inbox_->Forget(worker);
  if (remote_ != nullptr && !said_goodbye_) remote_->Lost(worker, incarnation, why);
  if (ended_) return;
  last_to_leave_ = fmt::format("{}: {}", Describe(worker), why.ToString());
  observer_.OnEvent(event::WorkerLost{worker, why});
  pump_.Raise(WorkerLost{worker, why});
  if (remote_ == nullptr) return;
  if (const auto lost = remote_->TakeLost()) pump_.Raise(UpdateLost{*lost});
}

uint64_t ServerJob::QueuedBytes() const {
  uint64_t bytes = 0;
  for (const auto& session : sessions_) {
    if (session != nullptr) bytes += env_.transport.QueuedBytes(session->peer);
  }
  return bytes;
}

void ServerJob::OnStuck() {
  const auto connected = std::count_if(sessions_.begin(), sessions_.end(),
                                       [](const auto& session) { return session != nullptr; });
  const std::string last =
      last_to_leave_.empty() ? "" : "; the last to leave was " + last_to_leave_;
  End(Status::Unavailable(fmt::format(
      "step {} has made no progress for {} s, the limit that `step_limit` sets; {} of {} "
      "workers are connected{}",
      record_.steps(), ToSeconds(options_.step_limit), connected, options_.workers, last)));
}

void ServerJob::OnAnswer(Event event) {
  if (auto* arrived = std::get_if<RowArrived>(&event)) {
    watch_.Progress();
    // With shards on other nodes, the worker may be gone by now.
    if (Session* session = SessionOf(arrived->worker)) {
      arrived->transfer = session->transfer.Ended(env_.loop.Now());
    }
    observer_.OnEvent(
        event::RowArrived{arrived->step, arrived->row, arrived->worker, env_.loop.Now()});
  } else if (const auto* progress = std::get_if<WorkerProgress>(&event)) {
    watch_.Computed(progress->worker, progress->samples);
  } else if (const auto* got_on = std::get_if<LeaseProgress>(&event)) {
    const double partitions = static_cast<double>(schedule_.partition_sizes().size());
    const double samples = got_on->done * (schedule_.batch_size(got_on->step) / partitions);
    watch_.Computed(got_on->worker, static_cast<uint64_t>(got_on->done));
    observer_.OnEvent(event::WorkComputed{got_on->step, got_on->worker,
                                          static_cast<uint64_t>(std::llround(samples)),
                                          got_on->compute, /*so_far=*/true, env_.loop.Now()});
  } else if (auto* vector = std::get_if<LeaseVector>(&event)) {
    watch_.Progress();
    vector->transfer = sessions_[vector->worker]->transfer.Ended(env_.loop.Now());
  } else if (const auto* back = std::get_if<LeaseReleased>(&event)) {
    observer_.OnEvent(
        event::LeaseReleased{back->step, back->worker, back->partitions, env_.loop.Now()});
  } else if (const auto* bad = std::get_if<RowRejected>(&event);
             bad && answers_->orders().Find(bad->step)->listed()) {
    observer_.OnEvent(event::VectorRefused{bad->step, bad->worker, env_.loop.Now()});
  }
  TellOfHeldCancels();
  pump_.Raise(std::move(event));
}

void ServerJob::OnLinkMeasured(WorkerId worker, Duration vector) {
  const uint64_t bytes = VectorLength(model_->parameter_count()) * sizeof(float);
  observer_.OnEvent(event::LinkMeasured{worker, bytes, vector, env_.loop.Now()});
  pump_.Raise(LinkMeasured{worker, vector});
}

std::string ServerJob::Describe(WorkerId worker) const {
  return DescribeWorker(worker, peers_.NameOf(worker));
}

void ServerJob::Execute(const Command& command) {
  if (remote_ == nullptr || !remote_->Holds(command)) CarryOut(command);
}

void ServerJob::CarryOut(const Command& command) {
  observer_.OnEvent(event::CommandGiven{command, env_.loop.Now()});
  std::visit([this](const auto& each) { Do(each); }, command);
}

bool ServerJob::CountsAreKnown() const {
  return options_.foreign == nullptr && options_.model.class_weights.empty();
}

// The weights that answers must have, unless the caller's trainer or class weights define them.
KnownCounts ServerJob::CountsOf(StepId step) const {
  return CountsAreKnown() ? schedule_.SharedRanges(step) : nullptr;
}

// Opens an update for answers; with lists if `form` is null. Ends the job, and returns false,
// without the memory for it.
bool ServerJob::Open(const Update& update, std::shared_ptr<const CodeForm> form) {
  began_ = true;
  record_.Opened(update.id, env_.loop.Now());
  watch_.Opened(update.id);
  for (const auto& session : sessions_) {
    if (session != nullptr) session->transfer.Opened();
  }
  const Status opened = answers_->Open(update, std::move(form), CountsOf(update.id));
  if (!opened.ok()) End(opened);
  inbox_->TakeWaitingEnds();
  TellOfHeldCancels();  // Precedes new work under the same names.
  return opened.ok();
}

void ServerJob::Do(const OpenStep& command) {
  const Time now = env_.loop.Now();
  if (!Open({command.step, command.base_version}, command.code)) return;
  observer_.OnEvent(event::StepOpened{command.step, *command.code, now});
}

void ServerJob::Do(const PlacePartitions& command) {
  Session* session = SessionOf(command.worker);
  if (session != nullptr) session->feed.Place(command.partitions);
}

void ServerJob::Do(const AssignRow& command) {
  Session* session = SessionOf(command.worker);
  if (session == nullptr) return;
  const Bytes& order = answers_->GiveRow(command.worker, command.step, command.row);
  if (Status fits = CheckSendable(FrameKind::kControl, order.size()); !fits.ok()) {
    return End(fits.WithContext(fmt::format(
        "row {} of step {} lists so many partitions that it cannot be sent: use fewer `parts` or "
        "workers, or another `code`",
        command.row, command.step)));
  }
  watch_.Assigned(command.worker);
  Publish(*session);
  const Header header = session->HeaderFor(FrameKind::kControl, command.step);
  SendBytes(env_.transport, session->peer, header, order, Priority::kControl, nullptr);
  observer_.OnEvent(event::RowAssigned{command.step, command.row, command.worker, env_.loop.Now()});
}

void ServerJob::Do(const CancelWork& command) {
  if (SessionOf(command.worker) == nullptr) return;
  TellOfCancel({command.worker, answers_->orders().Cancel(command.worker, command.step)});
}

void ServerJob::Do(const CancelRow& command) {
  if (SessionOf(command.worker) == nullptr) return;
  const auto cancel = answers_->orders().CancelRow(command.worker, command.step, command.row);
  if (cancel) TellOfCancel({command.worker, *cancel});
}

void ServerJob::Do(const OpenLeases& command) {
  if (!Open({command.step, command.base_version}, nullptr)) return;
  CodeForm form;
  form.name = "adaptive";
  form.partitions = static_cast<uint32_t>(schedule_.partition_sizes().size());
  observer_.OnEvent(event::StepOpened{command.step, form, env_.loop.Now()});
}

void ServerJob::Do(const ExtendLease& command) {
  const WorkerId worker = command.worker;
  Session* session = SessionOf(worker);
  if (session == nullptr) return;
  const Result<wire::OrderT> order =
      answers_->orders().Extend(worker, command.step, command.partitions);
  if (!order.ok()) return End(order.status());
  watch_.Assigned(worker);
  Publish(*session);
  Send(env_.transport, *session, command.step, *order);
}

void ServerJob::Do(const RevokeLease& command) {
  Session* session = SessionOf(command.worker);
  if (session == nullptr) return;
  const auto revoke = answers_->orders().Revoke(command.worker, command.partitions);
  if (revoke) Send(env_.transport, *session, command.step, *revoke);
}

void ServerJob::Do(const SendLease& command) {
  Session* session = SessionOf(command.worker);
  if (session == nullptr) return;
  const auto flush = answers_->orders().Flush(command.worker);
  if (flush) Send(env_.transport, *session, command.step, *flush);
}

void ServerJob::Do(const DropWorker& command) {
  if (SessionOf(command.worker) == nullptr) return;
  peers_.Ban(command.worker, command.why);
}

// The user of a job that never began must know which worker left last.
void ServerJob::Do(const EndJob& command) {
  Status status = command.status;
  if (command.last) {
    status = Status(status.code(),
                    fmt::format("{} (the last, {}: {})", status.ToString(),
                                Describe(command.last->worker), command.last->why.ToString()));
  }
  if (status.code() != StatusCode::kUnavailable || began_ || last_to_leave_.empty()) {
    return End(status);
  }
  End(Status::Unavailable(
      fmt::format("{}; the last to leave was {}", status.ToString(), last_to_leave_)));
}

void ServerJob::Do(const Notify& command) { Say(command.notice); }

void ServerJob::End(Status status) {
  if (std::exchange(ended_, true)) return;
  end_ = std::move(status);
  auditor_.End(/*hurry=*/!end_.ok());
  pump_.Stop();
  watch_.Stop();
  // Posted, because an update that could not begin ends the job from inside the model.
  env_.loop.Post(alive_.Guard([this] { FinishWhenQuiet(); }));
}

// Called only when the last checkpoint is safe. Until then this process may die, and the run that
// resumes the job needs workers. Waiting workers receive heartbeats, and a worker that connects
// again may join.
void ServerJob::SayGoodbye() {
  if (std::exchange(said_goodbye_, true)) return;
  peers_.SendAllAway(Farewell(), [this] {
    gone_ = true;
    FinishWhenQuiet();
  });
}

// The text that workers show to their users.
std::string ServerJob::Farewell() const {
  const std::string after =
      fmt::format("after {} of {}", record_.steps(), Counted(options_.steps, "step"));
  if (end_.ok()) return "the job is done, " + after;
  if (end_.code() == StatusCode::kCancelled) return "the job was stopped " + after;
  return fmt::format("the job failed {}: {}", after, end_.ToString());
}

// The last checkpoint is safe, or none can be saved.
bool ServerJob::Saved() {
  const bool lost = remote_ != nullptr && !model_->Has(remote_->version(), /*state=*/true);
  if (model_->spoiled() || lost) return checkpointer_->Settle();
  return checkpointer_->SaveLast(record_.steps());
}

// The status of a job that diverged must say what is left of it.
Status ServerJob::Outcome() const {
  if (!model_->spoiled() || checkpointer_ == nullptr) return end_;
  const uint64_t step = checkpointer_->safe_step();
  const std::string left =
      step == 0 ? "no checkpoint was written before"
                : fmt::format(
                      "the checkpoint of step {} is safe: `resume` goes on from there, "
                      "with `resume_step` from an older one",
                      step);
  return Status(end_.code(), fmt::format("{}; {}", end_.ToString(), left));
}

void ServerJob::FinishWhenQuiet() {
  const bool applying =
      remote_ != nullptr && remote_->shards().applying() && remote_->shards().reachable();
  if (!ended_ || applying || model_->busy() || auditor_.busy() || validator_->busy() || !finished_)
    return;
  if (remote_ != nullptr && !Fetch(checkpointer_ != nullptr, [this] { FinishWhenQuiet(); })) return;
  // Precedes the checkpoint, which keeps the version that the job leaves.
  if (end_.ok() && !validator_->Finish(record_.steps(), model_->parameters())) return;
  if (checkpointer_ != nullptr && !Saved()) return;
  SayGoodbye();
  if (!gone_) return;
  const auto result = std::make_shared<JobResult>(record_.Take());
  result->status = Outcome();
  result->parameters = validator_->best() ? validator_->best() : model_->parameters();
  result->validation = validator_->Summary();
  result->stopped_early = why_stopped_;
  result->max_decode_error = auditor_.max_decode_error();
  result->audited_steps = auditor_.audited_steps();
  result->audit = audits_;
  result->audit.max_difference = auditor_.max_difference();
  result->scheduler = pump_.Stats();
  if (checkpointer_ != nullptr) {
    result->checkpoint_step = checkpointer_->safe_step();
    result->checkpoints = checkpointer_->written();
    result->checkpoint_failures = checkpointer_->failures();
    result->checkpoint_status = checkpointer_->last_failure();
    result->checkpoint_weakness = checkpointer_->weakness();
  }
  // Posted, so that the caller may destroy this node from inside its callback.
  env_.loop.Post(alive_.Guard(
      [finished = std::exchange(finished_, nullptr), result] { finished(std::move(*result)); }));
}

}  // namespace motley
