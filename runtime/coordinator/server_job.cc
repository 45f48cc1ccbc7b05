// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/server_job.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "runtime/links/vector_probe.h"

namespace motley {
namespace {

JobRecord RecordOf(const JobOptions& options) {
  if (options.resume == nullptr) return JobRecord(options.workers);
  return JobRecord(options.workers, options.resume->step, options.resume->about.history);
}

wire::LocalStepsT MessageAbout(const LocalSteps& local) {
  const OptimizerOptions& by = local.optimizer;
  wire::LocalStepsT own;
  own.batch = local.batch;
  own.optimizer = by.name;
  own.learning_rate = by.learning_rate;
  own.l2 = by.l2;
  own.momentum = by.momentum;
  own.beta1 = by.beta1;
  own.beta2 = by.beta2;
  own.epsilon = by.epsilon;
  own.weight_decay = by.weight_decay;
  own.clip = by.clip;
  own.schedule = by.schedule;
  own.ahead = local.ahead;
  return own;
}

}  // namespace

ServerJob::ServerJob(Env env, const JobOptions& options, const DataSource& data,
                     JobObserver* observer, Parts parts)
    : server_{env,
              options,
              data,
              std::move(parts.schedule),
              std::move(parts.model),
              std::move(parts.validator),
              RecordOf(options),
              PartitionBlocks(data, server_.schedule.partition_sizes()),
              audits_,
              answers_,
              dispatcher_,
              updater_,
              vector_probe_,
              peers_,
              pump_,
              watch_,
              inbox_,
              end_},
      audits_(server_),
      answers_(options.workers, static_cast<uint32_t>(server_.schedule.partition_sizes().size()),
               AnswerHooks()),
      dispatcher_(server_),
      updater_(server_, std::move(parts.about)),
      vector_probe_(env.loop, env.transport,
                    server_.model->route().Answers(options.slice_length, options.wire),
                    [this](WorkerId worker, Duration vector) { OnLinkMeasured(worker, vector); }),
      peers_(server_, {[this](WorkerId worker) { return Welcome(worker); },
                       [this](WorkerId worker) { OnJoined(worker); },
                       [this](WorkerId worker, const Status& why) { OnNodeLost(worker, why); }}),
      pump_(env.loop, std::move(parts.scheduler),
            [this](const Command& command) { dispatcher_.Execute(command); }),
      watch_(
          env.loop, options.step_limit, options.workers,
          [this] {
            // The job waits for its own work here, and not for workers.
            if (audits_.auditor().holding() || server_.validator->holding() || updater_.paused()) {
              watch_.Progress();
            }
            return QueuedBytes();
          },
          [this] { end_.Stuck(); }),
      inbox_(server_),
      end_(server_) {
  server_.sessions.resize(options.places());
  server_.awaited = MakeAwaited();
  server_.observer.Tell({observer});
  server_.options.resume = nullptr;  // These two may be as large as the model.
  server_.options.first_parameters = nullptr;
  answers_.SetLog(&audits_.auditor().log());
  // Then nobody would read what the owners of shards log.
  if (!server_.model->gradient()->can_sum()) server_.options.audit_fraction = 0;
  if (OthersMayHold(options, VectorLength(server_.model->parameter_count()))) {
    server_.remote = MakeRemote();
  }
}

Answers::Hooks ServerJob::AnswerHooks() {
  Answers::Hooks hooks{
      [this](Event event) { OnAnswer(std::move(event)); },
      [this](WorkerId worker, StepId step, std::span<const PartitionId> covered) {
        server_.observer.OnEvent(event::VectorArrived{step, worker, covered, server_.Now()});
      },
      [this] { return server_.model->TakeSum(); },
      [this] {
        return server_.remote != nullptr ? server_.remote->version() : server_.model->version();
      }};
  if (server_.options.old_gradients == OldGradients::kGap) {
    hooks.sent = [this](WorkerId worker, uint64_t version) {
      const Session* const session = server_.SessionOf(worker);
      return session != nullptr ? session->Sent(version) : nullptr;
    };
  }
  return hooks;
}

// The scheduler gets no event before the shard servers are there, so no step is late for them.
std::unique_ptr<AwaitedServers> ServerJob::MakeAwaited() {
  const JobOptions& options = server_.options;
  const bool needed = options.holders == JobOptions::Holders::kShardServers;
  return std::make_unique<AwaitedServers>(
      server_.env.loop, needed ? options.shard_servers : 0, options.start_timeout,
      AwaitedServers::Hooks{[this] {
                              if (!updater_.paused()) pump_.Release();
                            },
                            [this] { return server_.remote->began(); },
                            [this](const Status& why) { end_.End(why); },
                            [this](const JobNotice& notice) { server_.Say(notice); }});
}

std::unique_ptr<RemoteUpdates> ServerJob::MakeRemote() {
  RemoteUpdates::Hooks hooks;
  hooks.node = [this](WorkerId worker) -> std::optional<RemoteShards::Hooks::Node> {
    const Session* session = server_.SessionOf(worker);
    if (session == nullptr) return std::nullopt;
    return RemoteShards::Hooks::Node{session->peer, session->header};
  };
  hooks.execute = [this](const Command& command) { dispatcher_.CarryOut(command); };
  hooks.answered = [this] { inbox_.TakeWaitingEnds(); };
  hooks.raise = [this](Event event) { pump_.Raise(std::move(event)); };
  hooks.failed = [this](const Status& why) { end_.End(why); };
  hooks.notice = [this](const JobNotice& notice) { server_.Say(notice); };
  hooks.progress = [this] { watch_.Progress(); };
  hooks.left = [this](WorkerId node, notice::ShardsMoved::Why why) {
    server_.observer.OnEvent(event::HolderLeft{node, why});
  };
  hooks.first = [this] {
    ShardState start = server_.model->GiveAway();
    if (!server_.options.read_every_version) server_.model->Forget();
    return start;
  };
  hooks.star = [this] {
    unused_remote_ = std::move(server_.remote);
    if (Status kept = server_.model->KeepHere(); !kept.ok()) end_.End(kept);
  };
  return std::make_unique<RemoteUpdates>(server_.env.loop, server_.env.transport, server_.options,
                                         server_.model->route(), server_.model->version(), answers_,
                                         std::move(hooks));
}

ServerJob::~ServerJob() {
  server_.env.transport.SetReceiver(nullptr);
  vector_probe_.Disturb();  // Sessions that end now must not have others measured.
  server_.sessions.clear();
}

void ServerJob::Start(Finished finished) {
  end_.Start(std::move(finished));
  server_.env.transport.SetReceiver(&inbox_);
  // The last run may have died between its last checkpoint and its goodbyes.
  if (server_.record.steps() >= server_.options.steps) end_.End(Status::Ok());
  const auto begin = [this] {
    if (!server_.awaited->waiting()) pump_.Release();
  };
  const bool paused = !end_.ended() && updater_.PausesAt(server_.record.steps(), begin);
  if ((server_.awaited->waiting() || paused) && !end_.ended()) pump_.Hold();
  SayWhyStar();
  pump_.Raise(Tick{});  // Starts the scheduler's clock.
  if (!end_.ended()) server_.awaited->Start();
  end_.Check();  // Stop may have been called before.
}

// With `reduce` auto and others that may hold the vector, VectorPlacement says it.
void ServerJob::SayWhyStar() {
  using Star = notice::StarKept;
  const JobOptions& options = server_.options;
  std::optional<Star::Why> why = options.star_kept;
  const bool chosen = options.holders == JobOptions::Holders::kChosen;
  if (chosen && server_.remote == nullptr) why = Star::Why::kShort;
  const uint64_t floats = std::max(options.modelled_floats, server_.model->parameter_count());
  if (why && !end_.ended()) server_.Say(Star{*why, static_cast<double>(floats * sizeof(float))});
}

void ServerJob::Follow(const Guidance& guidance) {
  updater_.Follow(guidance);
  if (guidance.finish) end_.End(Status::Ok());
}

wire::AcceptT ServerJob::Welcome(WorkerId worker) const {
  const JobOptions& options = server_.options;
  const DataShape shape = server_.data.shape();
  wire::AcceptT accept;
  accept.worker = worker;
  accept.job = options.job_id;
  accept.seed = options.seed;
  accept.batch = options.batch;
  accept.turns = options.turns;
  accept.partition_sizes = server_.schedule.partition_sizes();
  accept.features = shape.features;
  accept.classes = shape.classes;
  accept.sparse = shape.sparse;
  accept.model = options.model.name;
  accept.class_weights = options.model.class_weights;
  accept.dropout = options.model.dropout;
  accept.slice_length = options.slice_length;
  accept.shard_ends = server_.model->route().ends();
  accept.foreign = options.foreign != nullptr;
  accept.parameter_count = server_.model->parameter_count();
  if (accept.foreign) accept.model.clear();
  accept.step = server_.record.steps();
  accept.steps = options.steps;
  accept.beats = true;
  accept.listen = server_.remote != nullptr;
  accept.workers = options.workers;
  accept.wire = static_cast<uint8_t>(options.wire);
  accept.servers = options.shard_servers;
  if (options.local.batch > 0) {
    accept.local = std::make_unique<wire::LocalStepsT>(MessageAbout(options.local));
  }
  return accept;
}

void ServerJob::OnJoined(WorkerId worker) {
  if (end_.ended()) return;  // The worker only receives the goodbye.
  const Session::Shared shared{server_.env.loop,
                               server_.env.transport,
                               server_.blocks,
                               vector_probe_,
                               server_.model->shards(),
                               server_.model->parameter_count() * sizeof(float),
                               [this](const Status& why) { end_.End(why); }};
  const Seats::Seat& seat = peers_.seats()[worker];
  server_.sessions[worker] = std::make_unique<Session>(
      shared, worker, seat.peer, peers_.HeaderTo(worker, FrameKind::kControl),
      [this, worker](uint64_t bytes, Duration time) {
        server_.observer.OnEvent(event::RoundTrip{worker, bytes, time, server_.Now()});
      });
  if (server_.options.old_gradients == OldGradients::kGap) server_.sessions[worker]->KeepSent();
  if (!server_.Computes(worker)) {
    return server_.Say(notice::ShardServerJoined{worker, seat.name, seat.origin.host});
  }
  server_.record.Joined(worker, seat.name);
  server_.observer.OnEvent(event::WorkerJoined{worker, seat.name});
  if (server_.options.name_arrivals) server_.Say(peers_.OriginOf(worker));
  pump_.Raise(WorkerJoined{worker, seat.incarnation});
}

void ServerJob::OnNodeLost(WorkerId node, const Status& why) {
  if (server_.Computes(node)) {
    answers_.orders().Forget(node);
    audits_.auditor().log().Forget(node);
    dispatcher_.Forget(node);
    inbox_.Forget(node);
  } else {
    if (!end_.ended()) server_.Say(notice::ShardServerLost{node, why});
    if (!end_.ended()) server_.awaited->Lost(node);
  }
  const Session* session = server_.SessionOf(node);
  const Incarnation incarnation = session != nullptr ? session->header.incarnation : 0;
  server_.sessions[node] = nullptr;
  // The loss may end the job, and is reported first.
  if (server_.Computes(node) && !end_.ended()) {
    end_.Left(node, why);
    server_.observer.OnEvent(event::WorkerLost{node, why});
  }
  if (server_.remote != nullptr && !end_.said_goodbye()) {
    server_.remote->Lost(node, incarnation, why);
  }
  if (end_.ended()) return;
  if (server_.Computes(node)) pump_.Raise(WorkerLost{node, why});
  if (server_.remote == nullptr) return;
  if (const auto lost = server_.remote->TakeLost()) pump_.Raise(UpdateLost{*lost});
}

uint64_t ServerJob::QueuedBytes() const {
  uint64_t bytes = 0;
  for (const auto& session : server_.sessions) {
    if (session != nullptr) bytes += server_.env.transport.QueuedBytes(session->peer);
  }
  return bytes;
}

void ServerJob::OnAnswer(Event event) {
  if (auto* arrived = std::get_if<RowArrived>(&event)) {
    watch_.Progress();
    // With shards on other nodes, the worker may be gone by now.
    if (Session* session = server_.SessionOf(arrived->worker)) {
      arrived->transfer = session->transfer.Ended(server_.Now());
    }
    server_.observer.OnEvent(
        event::RowArrived{arrived->step, arrived->row, arrived->worker, server_.Now()});
  } else if (const auto* progress = std::get_if<WorkerProgress>(&event)) {
    watch_.Computed(progress->worker, progress->samples);
  } else if (const auto* got_on = std::get_if<LeaseProgress>(&event)) {
    const double partitions = static_cast<double>(server_.schedule.partition_sizes().size());
    const double samples = got_on->done * (server_.schedule.batch_size(got_on->step) / partitions);
    watch_.Computed(got_on->worker, static_cast<uint64_t>(got_on->done));
    server_.observer.OnEvent(event::WorkComputed{got_on->step, got_on->worker,
                                                 static_cast<uint64_t>(std::llround(samples)),
                                                 got_on->compute, /*so_far=*/true, server_.Now()});
  } else if (auto* vector = std::get_if<LeaseVector>(&event)) {
    watch_.Progress();
    vector->transfer = server_.SessionOf(vector->worker)->transfer.Ended(server_.Now());
  } else if (const auto* back = std::get_if<LeaseReleased>(&event)) {
    server_.observer.OnEvent(
        event::LeaseReleased{back->step, back->worker, back->partitions, server_.Now()});
  } else if (const auto* bad = std::get_if<RowRejected>(&event);
             bad && answers_.orders().Find(bad->step)->listed()) {
    server_.observer.OnEvent(event::VectorRefused{bad->step, bad->worker, server_.Now()});
  }
  dispatcher_.SendHeldCancels();
  pump_.Raise(std::move(event));
}

void ServerJob::OnLinkMeasured(WorkerId worker, Duration vector) {
  const uint64_t bytes = VectorLength(server_.model->parameter_count()) * sizeof(float);
  server_.observer.OnEvent(event::LinkMeasured{worker, bytes, vector, server_.Now()});
  pump_.Raise(LinkMeasured{worker, vector});
}

}  // namespace motley
