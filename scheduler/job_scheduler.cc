// SPDX-License-Identifier: Apache-2.0
#include "scheduler/job_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "coding/schemes.h"

namespace motley {

JobScheduler::JobScheduler(const SchedulerOptions& options)
    : job_(options),
      start_(job_),
      silence_(job_),
      sync_(std::make_unique<Barrier>(options.first_step)),
      engine_(MakeStepEngine(job_)) {}

Result<std::unique_ptr<JobScheduler>> JobScheduler::Make(const SchedulerOptions& options) {
  MOTLEY_RETURN_IF_ERROR(CheckJobOptions(options));
  MOTLEY_RETURN_IF_ERROR(CheckStepOptions(options));
  return std::unique_ptr<JobScheduler>(new JobScheduler(options));
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
  engine_ = MakeStepEngine(job_);
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
        } else {
          OnMessage(e.worker, event);
        }
      },
      event);
  job_.transfers.SeeAnswer(event);
  job_.out = nullptr;
}

Time JobScheduler::Deadline() const {
  switch (phase_) {
    case Phase::kStarting: return clock_runs_ ? start_.Due() : Time{};
    case Phase::kRunning: {
      const Time due = std::min(engine_->Due(), silence_.LongStepDue());
      if (due <= silence_.WaitDue()) return due;
      return std::min(due, std::max(silence_.WaitDue(), engine_->AnswersDue()));
    }
    case Phase::kCommitting:
    case Phase::kEnded: return kNever;
  }
  return kNever;
}

SchedulerStats JobScheduler::Stats() const {
  SchedulerStats stats = job_.totals;
  for (WorkerId id = 0; id < job_.members.size(); ++id) {
    stats.workers.push_back(job_.members[id].stats);
    stats.workers.back().speed = job_.members[id].speed();
  }
  engine_->Report(stats);
  return stats;
}

// --- Workers that come and go ---

void JobScheduler::On(const WorkerJoined& event) {
  const auto joined = job_.members.Join(event.worker, event.incarnation, job_.now);
  start_.Comes(event.worker);
  if (joined != Membership::Joined::kAgain) return;
  job_.Say(notice::StartedAgain{event.worker});
  Void(event.worker);
  if (phase_ == Phase::kRunning) Take(engine_->Replace());
}

void JobScheduler::On(const WorkerFree& event) {
  if (!job_.members.Live(event.worker)) return;
  Worker& worker = job_.members[event.worker];
  const bool first = !worker.ready;
  if (first) start_.Comes(event.worker);
  if (event.samples > 0 && worker.queued == 1) {
    job_.transfers.Began(event.worker, worker.assigned_in);
  }
  job_.members.Free(event, job_.now);
  if (phase_ == Phase::kStarting) {
    Take(engine_->OnEvent(event));
    return TryStart();
  }
  silence_.Heard();
  if (first) job_.Say(notice::Ready{event.worker});
  job_.TakeBack(event.worker);
  job_.plan_void = job_.plan_void || first;
  Take(engine_->OnEvent(event));
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
  if (phase_ != Phase::kRunning) return;
  if (live > 0) return Take(engine_->Replace());
  ++job_.totals.steps_restarted;
  engine_->Cancel();
  WaitForReturn();
}

// The worker is gone, with what it held.
void JobScheduler::Void(WorkerId worker) {
  job_.transfers.Gone(worker);
  engine_->Gone(worker);
  job_.plan_void = true;
}

void JobScheduler::Hear(WorkerId worker) {
  job_.members.Hear(worker, job_.now);
  if (phase_ == Phase::kRunning) silence_.Heard();
}

void JobScheduler::OnMessage(WorkerId worker, const Event& event) {
  if (!job_.members.Live(worker)) return;
  Hear(worker);
  Take(engine_->OnEvent(event));
}

// --- The start ---

void JobScheduler::TryStart() {
  JobEnd end;
  switch (start_.Try(end)) {
    case Start::Verdict::kWait: return;
    case Start::Verdict::kBegin: return NextStep();
    case Start::Verdict::kEnd: return End(std::move(end));
  }
}

void JobScheduler::WaitForReturn() {
  phase_ = Phase::kStarting;
  job_.update.open = false;
  start_.WaitForReturn();
  TryStart();
}

// --- Steps ---

// Waits if no worker can compute now. Returns false if some can.
bool JobScheduler::WaitForWorkers() {
  if (job_.members.ReadyCount() > 0) return false;
  if (job_.members.LiveCount() == 0) {
    WaitForReturn();
    return true;
  }
  // All live workers are newcomers that are not ready yet.
  phase_ = Phase::kStarting;
  job_.update.open = false;
  start_.WaitFor(job_.options.start_timeout);
  return true;
}

void JobScheduler::NextStep() {
  if (job_.update.id >= job_.options.steps) return End({});
  if (WaitForWorkers()) return;
  // An update that was open when all workers were lost is opened again.
  if (const std::optional<Update> next = sync_->Next()) {
    job_.update.id = next->id;
    job_.update.base_version = next->base_version;
    sync_->Opened(*next);
  }
  silence_.LeaveOut();
  if (Status planned = engine_->Prepare(); !planned.ok()) return End({std::move(planned), {}});
  job_.update.refusals.StepBegins();
  silence_.StepBegins();
  OpenStep();
}

void JobScheduler::OpenStep() {
  phase_ = Phase::kRunning;
  job_.update.open = true;
  start_.StepOpened();
  silence_.StepOpens();
  job_.transfers.StepOpens(job_.update.id);
  for (WorkerId id = 0; id < job_.members.size(); ++id) job_.members[id].heard = false;
  Take(engine_->Open());
}

void JobScheduler::RestartStep() {
  ++job_.totals.steps_restarted;
  engine_->Cancel();
  OpenStep();
}

void JobScheduler::Take(const StepResult& result) {
  switch (result.kind) {
    case StepResult::Kind::kOpen: return;
    case StepResult::Kind::kClosed:
      silence_.StepCommitted();
      phase_ = Phase::kCommitting;
      return;
    case StepResult::Kind::kRestart: return RestartStep();
    case StepResult::Kind::kFailed: return End({result.why, {}});
  }
}

void JobScheduler::On(const StepDecodable& event) {
  if (phase_ == Phase::kRunning && event.step == job_.update.id) Take(engine_->OnEvent(event));
}

void JobScheduler::On(const StepApplied& event) {
  if (phase_ != Phase::kCommitting || event.step != job_.update.id) return;
  ++job_.totals.steps_committed;
  job_.transfers.StepEnded();
  sync_->Committed(job_.update.id);
  ++job_.update.id;
  NextStep();
}

void JobScheduler::On(const UpdateLost& event) {
  const bool open = phase_ == Phase::kRunning || phase_ == Phase::kCommitting;
  if (!open || event.step != job_.update.id) return;
  ++job_.totals.steps_restarted;
  engine_->Cancel();
  if (WaitForWorkers()) return;
  if (Status planned = engine_->Prepare(); !planned.ok()) return End({std::move(planned), {}});
  OpenStep();
}

void JobScheduler::On(const Tick& event) {
  if (phase_ == Phase::kStarting) return TryStart();
  if (phase_ != Phase::kRunning) return;
  Take(engine_->OnEvent(event));
  if (phase_ == Phase::kRunning && job_.now >= silence_.LongStepDue()) silence_.ReportLongStep();
  if (phase_ != Phase::kRunning || job_.now < silence_.WaitDue()) return;
  if (job_.now >= engine_->AnswersDue()) silence_.ReportSilenceOfAll();
}

// --- Refused answers ---

void JobScheduler::On(const RowRejected& event) {
  if (!job_.members.Live(event.worker)) return;
  Hear(event.worker);
  const RefusalKind kind = engine_->Refused(event);
  if (kind == RefusalKind::kNot) return;
  ++job_.members[event.worker].stats.rejected;
  ++job_.members[event.worker].refused;
  if (kind == RefusalKind::kEarlier) return Take(engine_->OnEvent(event));
  job_.update.refusals.Add(event.worker);
  if (!job_.update.refusals.ShowDivergence(job_.members, job_.now)) return AfterRefusal(event);
  const char* who = job_.members.LiveCount() > 1 ? "all workers" : "the only worker left";
  End({Status::DataError(fmt::format(
           "the training diverged at step {}: {} sent answers that cannot be used; "
           "lower `learning_rate`, limit the gradients with `clip`, or look for bad values in "
           "the data",
           job_.update.id, who)),
       LastWorker{event.worker, event.why}});
}

void JobScheduler::AfterRefusal(const RowRejected& event) {
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
    job_.Say(notice::Refused{job_.update.id, id, event.why});
  }
  if (event.touched) {
    RestartStep();
  } else {
    Take(engine_->Replace());
  }
}

void JobScheduler::End(JobEnd end) {
  phase_ = Phase::kEnded;
  job_.update.open = false;
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
