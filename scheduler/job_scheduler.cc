// SPDX-License-Identifier: Apache-2.0
#include "scheduler/job_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/schemes.h"

namespace motley {
namespace {

// The update begins again, later or at once.
void Interrupt(Lane& lane, JobState& job) {
  ++job.totals.steps_restarted;
  lane.engine->Cancel();
  lane.update.phase = UpdateState::Phase::kWaiting;
}

}  // namespace

JobScheduler::JobScheduler(const SchedulerOptions& options, SharedBatches batches)
    : job_(options),
      start_(job_),
      silence_(job_),
      sync_(MakeSyncPolicy(options, std::move(batches))),
      lanes_(job_) {}

Result<std::unique_ptr<JobScheduler>> JobScheduler::Make(const SchedulerOptions& options,
                                                         SharedBatches batches) {
  MOTLEY_RETURN_IF_ERROR(CheckJobOptions(options));
  MOTLEY_RETURN_IF_ERROR(CheckStepOptions(options));
  return std::unique_ptr<JobScheduler>(new JobScheduler(options, std::move(batches)));
}

Status JobScheduler::ChangeTo(const SchedulerOptions& options) {
  MOTLEY_ASSERT(BetweenSteps());
  MOTLEY_RETURN_IF_ERROR(CheckJobOptions(options));
  MOTLEY_RETURN_IF_ERROR(CheckStepOptions(options));
  job_.options = options;
  // The links decide how long transfers take, and the scheme how long answers take.
  DeadlineModel deadlines;
  deadlines.GoOnFrom(job_.deadlines);
  job_.deadlines = std::move(deadlines);
  job_.transfers.SetAnswerPart(1);
  job_.transfers.WantCopies(false);
  ++job_.totals.replans;
  job_.plan_void = true;
  lanes_.MakeEngines();
  return Status::Ok();
}

void JobScheduler::OnEvent(const Event& event, Time now, std::vector<Command>& out) {
  if (phase_ == Phase::kEnded) return;
  job_.now = std::max(job_.now, now);
  job_.out = &out;
  if (!std::exchange(clock_runs_, true)) start_.WaitFor(job_.options.start_timeout);
  job_.transfers.See(event, job_.now);
  std::visit(
      [&](const auto& e) {
        if constexpr (requires { On(e); }) {
          On(e);
        } else if constexpr (!std::is_same_v<decltype(e), const OwnersPlaced&>) {
          OnMessage(e.worker, event);
        }
      },
      event);
  if (phase_ == Phase::kRunning) OpenUpdates();
  job_.out = nullptr;
}

Time JobScheduler::Deadline() const {
  if (phase_ == Phase::kStarting) return clock_runs_ ? start_.Due() : Time{};
  if (phase_ == Phase::kEnded) return kNever;
  const Time sync_due = sync_->Due(job_.members);
  if (!lanes_.AnyOpen()) return sync_due;
  const Time due = std::min({lanes_.Due(), silence_.LongStepDue(), sync_due});
  if (due <= silence_.WaitDue()) return due;
  return std::min(due, std::max(silence_.WaitDue(), lanes_.AnswersDue()));
}

SchedulerStats JobScheduler::Stats() const {
  SchedulerStats stats = job_.totals;
  for (WorkerId id = 0; id < job_.members.size(); ++id) {
    stats.workers.push_back(job_.members[id].stats);
    stats.workers.back().speed = job_.members[id].speed();
  }
  for (const Lane& lane : lanes_) lane.engine->Report(stats);
  return stats;
}

// --- Workers that come and go ---

void JobScheduler::On(const WorkerJoined& event) {
  const auto joined = job_.members.Join(event.worker, event.incarnation, job_.now);
  start_.Comes(event.worker);
  if (joined != Membership::Joined::kAgain) return;
  job_.Say(notice::StartedAgain{event.worker});
  Void(event.worker);
  Replace();
}

void JobScheduler::On(const WorkerFree& event) {
  if (!job_.members.Live(event.worker)) return;
  Worker& worker = job_.members[event.worker];
  const bool first = !worker.ready;
  if (first) start_.Comes(event.worker);
  job_.members.Free(event, job_.now);
  sync_->Enters(event.worker);
  if (phase_ == Phase::kStarting) {
    PassOn(event);
    return TryStart();
  }
  silence_.Heard();
  if (first) job_.Say(notice::Ready{event.worker});
  job_.TakeBack(event.worker);
  job_.plan_void = job_.plan_void || first;
  PassOn(event);
}

void JobScheduler::On(const WorkerNotComing& event) {
  start_.NotComing(event.worker);
  if (phase_ == Phase::kStarting) TryStart();
}

void JobScheduler::On(const WorkerLost& event) {
  if (!job_.members.Live(event.worker)) return;
  const bool leaves = event.why.code() == StatusCode::kCancelled;
  job_.members.Lose(event.worker, leaves);
  Void(event.worker);
  const uint32_t live = job_.members.LiveCount();
  if (leaves) {
    job_.Say(notice::Left{event.worker, live});
  } else {
    job_.Say(notice::Lost{event.worker, event.why, live});
  }
  start_.Lost(LastWorker{event.worker, event.why});
  if (phase_ == Phase::kStarting) return TryStart();
  if (live > 0) return Replace();
  for (Lane& lane : lanes_) {
    if (lane.update.open()) Interrupt(lane, job_);
  }
}

// The worker is gone, with what it held.
void JobScheduler::Void(WorkerId worker) {
  job_.transfers.Gone(worker);
  sync_->Leaves(worker);
  for (Lane& lane : lanes_) lane.engine->Gone(worker);
  job_.plan_void = true;
}

void JobScheduler::Hear(WorkerId worker) {
  job_.members.Hear(worker, job_.now);
  if (phase_ == Phase::kRunning) silence_.Heard();
}

void JobScheduler::OnMessage(WorkerId worker, const Event& event) {
  if (!job_.members.Live(worker)) return;
  Hear(worker);
  PassOn(event);
}

// Only the engine that a message concerns acts on it.
void JobScheduler::PassOn(const Event& event) {
  for (Lane& lane : lanes_) Take(lane, lane.engine->OnEvent(event));
}

void JobScheduler::Replace() {
  for (Lane& lane : lanes_) {
    if (lane.update.open()) Take(lane, lane.engine->Replace());
  }
}

// --- The start ---

void JobScheduler::TryStart() {
  JobEnd end;
  switch (start_.Try(end)) {
    case Start::Verdict::kWait: return;
    case Start::Verdict::kBegin: phase_ = Phase::kRunning; return;
    case Start::Verdict::kEnd: return End(std::move(end));
  }
}

// --- Updates ---

// Opens what may be open now: updates that were interrupted when all workers were lost, and the
// next ones.
void JobScheduler::OpenUpdates() {
  if (job_.version >= job_.options.steps) return End({});
  const bool idle = lanes_.Idle();
  if (idle && job_.members.LiveCount() == 0) {
    phase_ = Phase::kStarting;
    start_.WaitForReturn();
    return TryStart();
  }
  if (idle && job_.members.ReadyCount() == 0) {  // All live workers are newcomers, not ready yet.
    phase_ = Phase::kStarting;
    return start_.WaitFor(job_.options.start_timeout);
  }
  if (job_.members.ReadyCount() == 0) return;  // An update that is being applied ends first.
  for (Lane& lane : lanes_) {
    if (lane.update.waiting()) Begin(lane);
  }
  while (phase_ == Phase::kRunning) {
    const std::optional<SyncPolicy::Opening> next = sync_->Next(job_.members, job_.now);
    if (!next) return;
    Lane& lane = lanes_[next->lane];
    lane.update.id = next->update.id;
    lane.update.begun_again = 0;
    lane.update.base_version = next->update.base_version;
    lane.update.part = next->part;
    lane.update.phase = UpdateState::Phase::kWaiting;
    sync_->Opened(*next, job_.now);
    Begin(lane);
  }
}

void JobScheduler::Begin(Lane& lane) {
  silence_.LeaveOut();
  if (Status planned = lane.engine->Prepare(); !planned.ok()) return End({std::move(planned), {}});
  lane.update.refusals.StepBegins();
  if (!lanes_.AnyOpen()) silence_.StepBegins();
  OpenStep(lane);
}

void JobScheduler::OpenStep(Lane& lane) {
  lane.update.phase = UpdateState::Phase::kOpen;
  start_.StepOpened();
  silence_.StepOpens();
  job_.transfers.StepOpens(lane.update.id);
  for (WorkerId id = 0; id < job_.members.size(); ++id) {
    const bool waits = !job_.options.sync.one_each || id == lanes_.IndexOf(lane);
    if (waits) job_.members[id].heard = false;
  }
  Take(lane, lane.engine->Open());
}

void JobScheduler::Take(Lane& lane, const StepResult& result) {
  switch (result.kind) {
    case StepResult::Kind::kOpen: return;
    case StepResult::Kind::kClosed:
      silence_.StepCommitted();
      if (lanes_.AnyOpen()) silence_.StepBegins();
      return;
    case StepResult::Kind::kRestart: Interrupt(lane, job_); return OpenStep(lane);
    case StepResult::Kind::kFailed: return End({result.why, {}});
  }
}

void JobScheduler::On(const StepDecodable& event) {
  Lane* lane = lanes_.Of(event.step);
  if (lane != nullptr && lane->update.open()) Take(*lane, lane->engine->OnEvent(event));
}

void JobScheduler::On(const StepApplied& event) {
  Lane* lane = lanes_.Of(event.step);
  if (lane == nullptr || !lane->update.enough()) return;
  lane->update.phase = UpdateState::Phase::kNone;
  ++job_.totals.steps_committed;
  ++job_.version;
  job_.transfers.StepEnded();
  sync_->Committed(lanes_.IndexOf(*lane), job_.now);
}

void JobScheduler::On(const UpdateLost& event) {
  Lane* lane = lanes_.Of(event.step);
  if (phase_ != Phase::kRunning || lane == nullptr) return;
  Interrupt(*lane, job_);
  if (job_.members.ReadyCount() == 0) return;  // OpenUpdates waits.
  if (Status planned = lane->engine->Prepare(); !planned.ok()) {
    return End({std::move(planned), {}});
  }
  OpenStep(*lane);
}

void JobScheduler::On(const Tick& event) {
  if (phase_ == Phase::kStarting) return TryStart();
  sync_->Tick(job_.members, job_.now);
  for (Lane& lane : lanes_) {
    if (lane.update.open()) Take(lane, lane.engine->OnEvent(event));
  }
  if (!lanes_.AnyOpen()) return;
  if (job_.now >= silence_.LongStepDue()) silence_.ReportLongStep();
  if (job_.now >= std::max(silence_.WaitDue(), lanes_.AnswersDue())) silence_.ReportSilenceOfAll();
}

// --- Refused answers ---

void JobScheduler::On(const RowRejected& event) {
  if (!job_.members.Live(event.worker)) return;
  Hear(event.worker);
  Lane* of = lanes_.Of(event.step);
  Lane& lane = of != nullptr ? *of : lanes_[0];
  const RefusalKind kind = lane.engine->Refused(event);
  if (kind == RefusalKind::kNot) return;
  ++job_.members[event.worker].stats.rejected;
  ++job_.members[event.worker].refused;
  if (kind == RefusalKind::kEarlier) return PassOn(event);
  lane.update.refusals.Add(event.worker);
  if (!lane.update.refusals.ShowDivergence(job_.members, job_.now)) {
    return AfterRefusal(lane, event);
  }
  const char* who = job_.members.LiveCount() > 1 ? "all workers" : "the only worker left";
  End({Status::DataError(fmt::format(
           "the training diverged at step {}: {} sent answers that cannot be used; "
           "lower `learning_rate`, limit the gradients with `clip`, or look for bad values in "
           "the data",
           job_.version, who)),
       LastWorker{event.worker, event.why}});
}

void JobScheduler::AfterRefusal(Lane& lane, const RowRejected& event) {
  const WorkerId id = event.worker;
  if (Refusals::TooMany(job_.members, id)) {
    const auto refused = static_cast<uint32_t>(job_.members[id].refused);
    job_.Do(DropWorker{
        id, Status::DataError(fmt::format("it sent {} answers that cannot be used, the last: {}",
                                          refused, event.why.ToString()))});
    job_.members.Lose(id, /*leaves=*/false);
    Void(id);
    job_.Say(notice::SentAway{id, refused, event.why, job_.members.LiveCount()});
  } else {
    job_.Say(notice::Refused{lane.update.id, id, event.why});
  }
  if (event.touched) {
    Interrupt(lane, job_);
    OpenStep(lane);
  } else {
    Replace();
  }
}

void JobScheduler::End(JobEnd end) {
  phase_ = Phase::kEnded;
  for (Lane& lane : lanes_) lane.update.phase = UpdateState::Phase::kNone;
  job_.Do(EndJob{std::move(end.why), std::move(end.last)});
}

// --- Options ---

Status CheckJobOptions(const SchedulerOptions& options) {
  const Scheme& scheme = SchemeNamed(options.code);
  if (options.workers == 0) return Status::InvalidArgument("a job needs at least one worker");
  if (options.steps == 0) return Status::InvalidArgument("a job needs at least one step");
  if (options.first_step > options.steps) {
    return Status::InvalidArgument(fmt::format("a job of {} steps cannot go on from step {}",
                                               options.steps, options.first_step));
  }
  if (options.batch == 0) return Status::InvalidArgument("the batch must have at least one sample");
  if (options.turns == 0 || options.turns > std::min(options.partitions, options.batch) ||
      (options.turns > 1 && !options.sync.in_order)) {
    return Status::InvalidArgument(fmt::format(
        "{} updates in a row share a batch of {} samples in {} partitions: only with `sync` r2sp, "
        "and at most as many as there are samples and partitions",
        options.turns, options.batch, options.partitions));
  }
  if (options.partitions < options.workers) {
    return Status::InvalidArgument(
        fmt::format("{} workers, and the samples are cut into {} partitions, for all of the job's "
                    "life: use at most {} workers",
                    options.workers, options.partitions, options.partitions));
  }
  if (options.partitions > kMaxPartitions) {
    return Status::InvalidArgument(
        fmt::format("{} partitions: at most {} are possible", options.partitions, kMaxPartitions));
  }
  if (scheme.keeps_copies && options.tolerate >= options.workers) {
    return Status::InvalidArgument(
        fmt::format("cannot tolerate {} missing of {} workers: tolerate at most {}, or add workers",
                    options.tolerate, options.workers, options.workers - 1));
  }
  if (scheme.exact && (options.quorum > 0 || options.step_deadline != Duration())) {
    return Status::InvalidArgument(
        fmt::format("steps of code {} are exact and wait for what that takes: `quorum` and "
                    "`step_deadline` need `code` approximate",
                    options.code));
  }
  if (options.least_workers == 0 || options.least_workers > options.workers) {
    return Status::InvalidArgument(fmt::format("`min_workers` {}: the job has from 1 to {} workers",
                                               options.least_workers, options.workers));
  }
  if (options.sync.one_each && options.code != "none") {
    return Status::InvalidArgument(fmt::format(
        "`sync` {} gives each worker updates of its own, which need no code: use `code` "
        "none, or `sync` bsp with code {}",
        NameOf(options.sync), options.code));
  }
  if (options.sync.one_each && options.most_workers > 0) {
    return Status::InvalidArgument(fmt::format(
        "with `sync` {} all workers take part: leave `fastest` out", NameOf(options.sync)));
  }
  if (options.sync.one_each && options.first_step > 0) {
    return Status::InvalidArgument(
        fmt::format("a job with `sync` {} cannot go on from a checkpoint", NameOf(options.sync)));
  }
  if (options.quorum > options.workers) {
    return Status::InvalidArgument(
        fmt::format("a `quorum` of {} answers from {} workers: at most {}", options.quorum,
                    options.workers, options.workers));
  }
  if (options.step_deadline < Duration::zero()) {
    return Status::InvalidArgument("the `step_deadline` must be positive");
  }
  if (options.start_timeout <= Duration::zero() || options.return_timeout < Duration::zero()) {
    return Status::InvalidArgument("the start timeout must be positive");
  }
  return Status::Ok();
}

}  // namespace motley
