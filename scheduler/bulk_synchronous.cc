// SPDX-License-Identifier: Apache-2.0
#include "scheduler/bulk_synchronous.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr uint32_t kSilentSteps = 3;      // In a row without a word: left out of the plan.
constexpr int kSilentPatience = 8;        // Or silent for this many times what is normal.
constexpr size_t kMaxRejections = 3;      // Of one life of a worker; then it is sent away.
constexpr size_t kUsualSteps = 32;        // The last ones say how long a step usually takes,
constexpr size_t kEnoughSteps = 5;        // from so many on.
constexpr double kLongStep = 20;          // Worth telling: so many times the usual,
constexpr double kLongStepSeconds = 1.0;  // and at least this.

}  // namespace

Status CheckBulkOptions(const SchedulerOptions& options) {
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
  if (options.code != "none" && options.tolerate >= options.workers) {
    return Status::InvalidArgument(
        fmt::format("cannot tolerate {} missing of {} workers: tolerate at most {}, or add workers",
                    options.tolerate, options.workers, options.workers - 1));
  }
  if (options.code != "approximate" &&
      (options.quorum > 0 || options.step_deadline != Duration())) {
    return Status::InvalidArgument(
        fmt::format("steps of code {} are exact and wait for what that takes: `quorum` and "
                    "`step_deadline` need "
                    "`code` approximate",
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

BulkSynchronous::BulkSynchronous(SchedulerOptions options)
    : options_(std::move(options)),
      members_(options_.workers, options_.partitions),
      step_(options_.first_step),
      not_coming_(options_.workers, false),
      step_seconds_(kUsualSteps) {}

void BulkSynchronous::OnEvent(const Event& event, Time now, std::vector<Command>& out) {
  if (phase_ == Phase::kEnded) return;
  now_ = std::max(now_, now);
  if (!started_clock_) {
    started_clock_ = true;
    WaitForWorkers(options_.start_timeout);
  }
  out_ = &out;
  link_.See(event, now_, AnswerPart());
  std::visit(
      [&](const auto& e) {
        if constexpr (requires { On(e); }) {
          On(e);
        } else {
          OnOther(event);
        }
      },
      event);
  // After the policy: what it just learned may have waited for them.
  if (const auto* row = std::get_if<RowArrived>(&event)) data_.Answered(row->worker, row->step);
  if (const auto* late = std::get_if<RowLate>(&event)) data_.Answered(late->worker, late->step);
  if (const auto* sum = std::get_if<LeaseVector>(&event)) data_.Answered(sum->worker, sum->step);
  out_ = nullptr;
}

void BulkSynchronous::GoOnFrom(BulkSynchronous& before) {
  MOTLEY_ASSERT(before.BetweenSteps() && !started_clock_);
  members_ = std::move(before.members_);
  habits_ = std::move(before.habits_);
  link_ = std::move(before.link_);
  data_ = std::move(before.data_);
  deadlines_.GoOnFrom(before.deadlines_);
  phase_ = before.phase_;
  now_ = before.now_;
  step_ = before.step_;
  totals_ = before.totals_;
  ++totals_.replans;
  started_clock_ = before.started_clock_;
  start_deadline_ = before.start_deadline_;
  start_limit_ = before.start_limit_;
  start_extended_ = before.start_extended_;
  begun_ = before.begun_;
  had_ = before.had_;
  all_lost_ = before.all_lost_;
  gathered_ = before.gathered_;
  last_lost_ = before.last_lost_;
  not_coming_ = std::move(before.not_coming_);
  wait_ = before.wait_;
  step_seconds_ = before.step_seconds_;
  step_since_ = before.step_since_;
  plan_void_ = true;
  WentOn();
}

Time BulkSynchronous::Deadline() const {
  switch (phase_) {
    case Phase::kStarting:
      if (gathered_ != kNever) return gathered_;
      if (!started_clock_) return Time{};
      return std::min({start_deadline_, gather_deadline_, wait_.Due()});
    case Phase::kRunning: {
      const Time due = std::min(StepDue(), long_step_due_);
      return due <= wait_.Due() ? due : std::min(due, SilenceDue());  // It is not before that.
    }
    case Phase::kCommitting:
    case Phase::kEnded: return kNever;
  }
  return kNever;
}

void BulkSynchronous::On(const WorkerJoined& event) {
  const auto joined = members_.Join(event.worker, event.incarnation, now_);
  if (event.worker < not_coming_.size()) not_coming_[event.worker] = false;
  if (joined == Membership::Joined::kAgain) {
    Say(notice::StartedAgain{event.worker});
    Void(event.worker);
    if (phase_ == Phase::kRunning) ReplaceAbsent();
  }
}

void BulkSynchronous::On(const WorkerFree& event) {
  if (!members_.Live(event.worker)) return;
  Worker& worker = members_[event.worker];
  const bool first = !worker.ready;
  if (first && event.worker < not_coming_.size()) not_coming_[event.worker] = false;
  Ended(event);
  if (event.samples > 0 && worker.queued == 1) data_.Began(event.worker, worker.assigned_in);
  members_.Free(event, now_);
  if (phase_ == Phase::kStarting) return TryStart();
  wait_.Restart(now_);
  if (first) Say(notice::Ready{event.worker});
  TakeBack(event.worker);
  plan_void_ = plan_void_ || first;
  if (phase_ == Phase::kRunning && worker.free) GiveWork(event.worker);
}

// It is gone, with what it held.
void BulkSynchronous::Void(WorkerId worker) {
  data_.Gone(worker);
  VoidWork(worker);
  plan_void_ = true;
}

// One that was left out for its silence speaks.
void BulkSynchronous::TakeBack(WorkerId id) {
  Worker& worker = members_[id];
  if (!worker.left_out) return;
  worker.left_out = false;
  worker.speed_bound = 0;  // Its silence said nothing about its speed.
  Say(notice::AnswersAgain{id});
  plan_void_ = true;
}

void BulkSynchronous::On(const WorkerProgress& event) {
  if (!members_.Live(event.worker)) return;
  Hear(event.worker);
  Spoke(event.worker);
}

void BulkSynchronous::On(const WorkerLost& event) {
  if (!members_.Live(event.worker)) return;
  const bool leaves = event.why.code() == StatusCode::kCancelled;
  members_.Lose(event.worker, leaves);
  Void(event.worker);
  if (leaves) {
    Say(notice::Left{event.worker, members_.LiveCount()});
  } else {
    Say(notice::Lost{event.worker, event.why, members_.LiveCount()});
  }
  last_lost_ = LastWorker{event.worker, event.why};
  if (phase_ == Phase::kStarting) return TryStart();
  if (phase_ != Phase::kRunning) return;
  if (members_.LiveCount() > 0) return ReplaceAbsent();
  ++totals_.steps_restarted;
  CancelAll();
  WaitForReturn();
}

void BulkSynchronous::On(const StepApplied& event) {
  if (phase_ != Phase::kCommitting || event.step != step_) return;
  ++totals_.steps_committed;
  link_.StepEnded();
  ++step_;
  NextStep();
}

void BulkSynchronous::On(const Tick&) {
  if (phase_ == Phase::kStarting) return TryStart();
  if (phase_ != Phase::kRunning) return;
  TickInStep();
  if (phase_ == Phase::kRunning && now_ >= long_step_due_) SayThatStepIsLong();
  if (phase_ == Phase::kRunning && now_ >= SilenceDue()) SayThatAllAreSilent();
}

void BulkSynchronous::NextStep() {
  if (step_ >= options_.steps) return End(Status::Ok());
  if (members_.LiveCount() == 0) return WaitForReturn();
  if (members_.ReadyCount() == 0) {  // Only newcomers that are not ready yet.
    phase_ = Phase::kStarting;
    return WaitForWorkers(options_.start_timeout);
  }
  LeaveOutTheSilent();
  if (!PlanAnew()) return;
  rejected_.clear();
  step_since_ = now_;
  long_step_due_ = kNever;
  if (step_seconds_.count() >= kEnoughSteps) {
    const double usual = step_seconds_.Limit(0);
    long_step_due_ = now_ + FromSeconds(std::max(kLongStepSeconds, kLongStep * usual));
  }
  Open();
}

void BulkSynchronous::Open() {
  phase_ = Phase::kRunning;
  begun_ = true;
  had_ = members_.ReadyCount();
  wait_.Restart(now_);
  data_in_the_way_ = data_.InTheWay(step_);
  for (WorkerId id = 0; id < members_.size(); ++id) members_[id].heard = false;
  OpenStepNow();
}

void BulkSynchronous::LeaveOutTheSilent() {
  for (WorkerId id = 0; id < members_.size(); ++id) {
    Worker& worker = members_[id];
    if (!worker.live || !worker.ready || worker.left_out || worker.free) continue;
    const Duration silence = worker.Silence(now_);
    const bool missed_steps = worker.silent_steps >= kSilentSteps && worker.Overdue(now_);
    if (!missed_steps && silence < worker.patience * kSilentPatience) continue;
    if (silence < worker.patience + SendingForAnother(id)) continue;
    worker.left_out = true;
    plan_void_ = true;
    Say(notice::Silent{id, silence});
  }
}

// --- Inside a step ---

void BulkSynchronous::Hear(WorkerId worker) {
  members_.Hear(worker, now_);
  if (phase_ == Phase::kRunning) wait_.Restart(now_);
}

// Not before everybody who was asked takes longer than is normal.
Time BulkSynchronous::SilenceDue() const { return std::max(wait_.Due(), AnswersDue()); }

void BulkSynchronous::SayThatAllAreSilent() {
  Say(notice::AllSilent{step_, wait_.Length(now_)});
  wait_.Told(now_);
}

void BulkSynchronous::SayThatStepIsLong() {
  const Duration taken = now_ - step_since_;
  std::vector<WorkerId> busy;
  for (WorkerId id = 0; id < members_.size(); ++id) {
    if (members_[id].live && members_[id].ready && !members_[id].free) busy.push_back(id);
  }
  const double usual = step_seconds_.Limit(0);
  const double times = usual > 0 ? ToSeconds(taken) / usual : 0;
  Say(notice::LongStep{step_, taken, times, std::move(busy)});
  long_step_due_ = now_ + taken;
}

void BulkSynchronous::Commit(bool approximately) {
  step_seconds_.Add(ToSeconds(now_ - step_since_));
  Do(CommitStep{step_, approximately});
  phase_ = Phase::kCommitting;
}

void BulkSynchronous::Cancel(WorkerId worker) { Do(CancelWork{worker, step_}); }

void BulkSynchronous::SendData(WorkerId worker, std::vector<PartitionId> partitions,
                               DataWatch::Why why) {
  for (const PartitionId p : partitions) members_[worker].holds[p] = true;
  members_[worker].stats.placed_partitions += partitions.size();
  const Duration takes = FromSeconds(deadlines_.TransferSeconds(partitions.size()));
  const Time due = now_ + data_.Left(worker, now_) + takes;
  data_.Sent(worker, static_cast<uint32_t>(partitions.size()), step_, why, due);
  data_in_the_way_ = data_in_the_way_ || why != DataWatch::Why::kFew;
  Do(PlacePartitions{worker, std::move(partitions)});
}

void BulkSynchronous::Restart() {
  ++totals_.steps_restarted;
  CancelAll();
  Open();
}

// --- Refused answers ---

bool BulkSynchronous::RejectedInStep(WorkerId worker) const {
  return std::find(rejected_.begin(), rejected_.end(), worker) != rejected_.end();
}

bool BulkSynchronous::OnlyRejectedAreLeft() const {
  for (WorkerId id = 0; id < members_.size(); ++id) {
    const Worker& worker = members_[id];
    const bool counts = worker.live && worker.ready && !worker.Overdue(now_);
    if (counts && !RejectedInStep(id)) return false;
  }
  return true;
}

void BulkSynchronous::CountRefused(WorkerId worker) {
  ++members_[worker].stats.rejected;
  ++members_[worker].refused;
}

void BulkSynchronous::Refuse(const RowRejected& event) {
  rejected_.push_back(event.worker);
  if (!Diverged(event)) AfterRejection(event);
}

// Bad workers prove nothing, even when they are the most: training has diverged when nobody who is
// awake can answer well. Workers that lie are sent away after kMaxRejections of them.
bool BulkSynchronous::Diverged(const RowRejected& event) {
  const auto same = std::count(rejected_.begin(), rejected_.end(), event.worker);
  uint32_t senders = 0;
  uint32_t awake = 0;
  for (WorkerId id = 0; id < members_.size(); ++id) {
    if (!members_.Live(id) || !members_[id].ready || members_[id].Overdue(now_)) continue;
    ++awake;
    senders += RejectedInStep(id) ? 1 : 0;
  }
  const bool others = senders > 1 && senders == awake;
  const bool alone = members_.LiveCount() == 1 && same >= static_cast<int>(kMaxRejections);
  if (!others && !alone) return false;
  End(Status::DataError(fmt::format(
          "the training diverged at step {}: {} sent answers that cannot be used; lower "
          "`learning_rate`, or look for bad values in the data",
          step_, others ? "all workers" : "the only worker left")),
      LastWorker{event.worker, event.why});
  return true;
}

void BulkSynchronous::AfterRejection(const RowRejected& event) {
  const WorkerId id = event.worker;
  const bool drop = members_[id].refused >= kMaxRejections && members_.LiveCount() > 1;
  if (drop) {
    Status why =
        Status::DataError(fmt::format("it sent {} answers that cannot be used, the last: {}",
                                      members_[id].refused, event.why.ToString()));
    Do(DropWorker{id, why});
    members_.Lose(id, /*leaves=*/false);
    Void(id);
    Say(notice::SentAway{id, static_cast<uint32_t>(members_[id].refused), event.why,
                         members_.LiveCount()});
  } else {
    Say(notice::Refused{step_, id, event.why});
  }
  if (event.touched) {
    Restart();
  } else {
    ReplaceAbsent();
  }
}

// --- Reports ---

void BulkSynchronous::End(Status status, std::optional<LastWorker> last) {
  phase_ = Phase::kEnded;
  Do(EndJob{std::move(status), std::move(last)});
}

void BulkSynchronous::Say(Notice notice) { Do(Notify{std::move(notice)}); }

void BulkSynchronous::SayOf(const Compromise& compromise) {
  std::visit([this](const auto& each) { Say(each); }, compromise);
}

}  // namespace motley
