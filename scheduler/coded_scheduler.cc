// SPDX-License-Identifier: Apache-2.0
#include "scheduler/coded_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "coding/gradient_code.h"

namespace motley {
namespace {

constexpr uint32_t kSilentSteps = 3;        // In a row without a word: left out of the plan.
constexpr int kSilentPatience = 8;          // Or silent for this many times what is normal.
constexpr uint64_t kStepsBetweenPlans = 3;  // A plan is given time to show itself.
constexpr uint32_t kGainsInARow = 3;        // One look may see a gain that is noise.
constexpr double kSure = 2;                 // Standard errors that a gain has to outlast.
constexpr double kSpeedNoise = 0.05;        // Smaller changes of all speeds need no second look.
constexpr uint32_t kMaxPartitions = 1u << 20;

Status CheckOptions(const SchedulerOptions& options) {
  if (options.workers == 0) return Status::InvalidArgument("a job needs at least one worker");
  if (options.steps == 0) return Status::InvalidArgument("a job needs at least one step");
  if (options.first_step > options.steps) {
    return Status::InvalidArgument(fmt::format("a job of {} steps cannot go on from step {}",
                                               options.steps, options.first_step));
  }
  if (options.batch == 0) return Status::InvalidArgument("the batch must have at least one sample");
  if (options.partitions < options.workers || options.partitions > kMaxPartitions) {
    return Status::InvalidArgument(
        fmt::format("{} partitions for {} workers: it takes from one per worker to {}",
                    options.partitions, options.workers, kMaxPartitions));
  }
  if (options.code != "none" && options.tolerate >= options.workers) {
    return Status::InvalidArgument(
        fmt::format("cannot tolerate {} missing of {} workers: tolerate at most {}, or add workers",
                    options.tolerate, options.workers, options.workers - 1));
  }
  if (options.start_timeout <= Duration::zero()) {
    return Status::InvalidArgument("the start timeout must be positive");
  }
  return Status::Ok();
}

}  // namespace

CodedScheduler::CodedScheduler(SchedulerOptions options, RowsToReplace rows_to_replace)
    : options_(std::move(options)),
      rows_to_replace_(std::move(rows_to_replace)),
      members_(options_.workers, options_.partitions),
      not_coming_(options_.workers, false),
      step_(options_.first_step) {}

void CodedScheduler::OnEvent(const Event& event, Time now, std::vector<Command>& out) {
  if (phase_ == Phase::kEnded) return;
  now_ = std::max(now_, now);
  if (!started_clock_) {
    started_clock_ = true;
    WaitForWorkers();
  }
  out_ = &out;
  std::visit(
      [this](const auto& e) {
        if constexpr (requires { On(e); }) On(e);  // It leases nothing.
      },
      event);
  out_ = nullptr;
}

Time CodedScheduler::Deadline() const {
  switch (phase_) {
    case Phase::kStarting: return started_clock_ ? std::min(start_deadline_, wait_.Due()) : Time{};
    case Phase::kRunning:
      return recheck_ ? now_ : std::min({open_.NextDue(), verdict_due_, SilenceDue()});
    case Phase::kCommitting:
    case Phase::kEnded: return kNever;
  }
  return kNever;
}

SchedulerStats CodedScheduler::Stats() const {
  SchedulerStats stats = totals_;
  if (plan_.code != nullptr) stats.tolerates = plan_.code->stragglers;
  for (WorkerId id = 0; id < members_.size(); ++id) {
    stats.workers.push_back(members_[id].stats);
    WorkerStats& worker = stats.workers.back();
    worker.speed = members_[id].speed();
    const auto row = plan_.code == nullptr ? std::nullopt : plan_.RowOf(id);
    if (!row) continue;
    worker.share = static_cast<double>(plan_.code->rows[*row].size()) / options_.partitions;
  }
  return stats;
}

void CodedScheduler::On(const WorkerJoined& event) {
  const auto joined = members_.Join(event.worker, event.incarnation, now_);
  if (event.worker < not_coming_.size()) not_coming_[event.worker] = false;
  if (joined == Membership::Joined::kAgain) {
    Say(fmt::format("worker {} started again; what it was doing is lost", event.worker));
    VoidWork(event.worker);
    plan_void_ = true;
    if (phase_ == Phase::kRunning) ReplaceAbsent();
  }
}

void CodedScheduler::On(const WorkerFree& event) {
  if (!members_.Live(event.worker)) return;
  Worker& worker = members_[event.worker];
  const bool first = !worker.ready;
  members_.Free(event, now_);
  if (phase_ == Phase::kStarting) return TryStart();
  wait_.Restart(now_);
  if (first) Say(fmt::format("worker {} joined; it gets a share from the next step", event.worker));
  if (worker.left_out) {
    worker.left_out = false;
    worker.speed_bound = 0;  // Its silence said nothing about its speed.
    Say(fmt::format("worker {} answers again; it gets a share from the next step", event.worker));
    plan_void_ = true;
  }
  plan_void_ = plan_void_ || first;
  if (phase_ == Phase::kRunning) GiveWork(event.worker);
}

void CodedScheduler::On(const WorkerProgress& event) {
  if (members_.Live(event.worker)) Hear(event.worker);
}

void CodedScheduler::On(const WorkerLost& event) {
  if (!members_.Live(event.worker)) return;
  members_.Lose(event.worker);
  VoidWork(event.worker);
  plan_void_ = true;
  Say(fmt::format("worker {} lost: {}; {}", event.worker, event.why.ToString(), LiveWords()));
  if (phase_ == Phase::kStarting) return TryStart();
  if (phase_ != Phase::kRunning) return;
  if (members_.LiveCount() == 0) {
    return End(event.why.ok()
                   ? Status::Unavailable(fmt::format("no worker is left at step {}", step_))
                   : Status::Unavailable(fmt::format(
                         "no worker is left at step {}, so the job cannot go on (the last, worker "
                         "{}: {}); start it again with workers that stay",
                         step_, event.worker, event.why.ToString())));
  }
  ReplaceAbsent();
}

void CodedScheduler::On(const StepApplied& event) {
  if (phase_ != Phase::kCommitting || event.step != step_) return;
  ++totals_.steps_committed;
  ++step_;
  NextStep();
}

void CodedScheduler::On(const Tick&) {
  if (phase_ == Phase::kStarting) return TryStart();
  if (phase_ != Phase::kRunning) return;
  if (now_ >= verdict_due_) return GiveUpOnCode();
  if (open_.MarkOverdue(now_) || recheck_) ReplaceAbsent();
  if (now_ >= SilenceDue()) SayThatAllAreSilent();
}

void CodedScheduler::NextStep() {
  if (step_ >= options_.steps) return End(Status::Ok());
  if (members_.LiveCount() == 0) {
    return End(Status::Unavailable(
        fmt::format("no worker is left at step {}, so the job cannot go on", step_)));
  }
  if (members_.ReadyCount() == 0) {  // Only newcomers that are not ready yet.
    phase_ = Phase::kStarting;
    WaitForWorkers();
    return;
  }
  LeaveOutTheSilent();
  if (!PlanAnew()) return;
  rejected_.clear();
  OpenStepNow();
}

void CodedScheduler::LeaveOutTheSilent() {
  for (WorkerId id = 0; id < members_.size(); ++id) {
    Worker& worker = members_[id];
    if (!worker.live || !worker.ready || worker.left_out || worker.free) continue;
    const Duration silence = worker.Silence(now_);
    const bool missed_steps = worker.silent_steps >= kSilentSteps && worker.Overdue(now_);
    if (!missed_steps && silence < worker.patience * kSilentPatience) continue;
    worker.left_out = true;
    plan_void_ = true;
    Say(fmt::format("worker {} has said nothing for {:.1f} s; going on without it until it does",
                    id, ToSeconds(silence)));
  }
}

bool CodedScheduler::PlanAnew() {
  const std::vector<WorkerId> candidates = members_.Candidates();
  steady_.Add(candidates, members_.SpeedsOf(candidates), members_.NoiseOf(candidates));
  const std::vector<double> speeds = steady_.Of(candidates);
  if (!plan_void_ && !WorthALook(candidates, speeds)) return true;
  judged_ = candidates;
  judged_speeds_ = speeds;
  Result<Plan> plan = MakePlan(options_, candidates, speeds);
  if (!plan.ok()) {
    End(plan.status());
    return false;
  }
  if (!plan_void_ && !SpeedsCallForAnother(*plan)) {
    gains_ = 0;
    return true;
  }
  if (plan_void_ || ++gains_ >= kGainsInARow) Adopt(std::move(plan).value());
  return true;
}

bool CodedScheduler::WorthALook(const std::vector<WorkerId>& candidates,
                                const std::vector<double>& speeds) const {
  if (options_.shares == Shares::kEqual || step_ < planned_at_ + kStepsBetweenPlans) return false;
  // With equal loads for everybody, the speeds change nothing.
  if (!plan_.FollowsSpeeds() && plan_.members == candidates) return false;
  return gains_ > 0 || SpeedsChanged(candidates, speeds);
}

// Since they were last judged, also of those without a share: they may have become fit for one.
bool CodedScheduler::SpeedsChanged(const std::vector<WorkerId>& candidates,
                                   const std::vector<double>& speeds) const {
  if (candidates != judged_) return true;
  for (size_t i = 0; i < speeds.size(); ++i) {
    if (std::abs(speeds[i] - judged_speeds_[i]) > kSpeedNoise * judged_speeds_[i]) return true;
  }
  return false;
}

bool CodedScheduler::SpeedsCallForAnother(const Plan& fresh) const {
  const double per_partition = static_cast<double>(options_.batch) / options_.partitions;
  const std::vector<double> speeds = steady_.Of(plan_.members);
  double total_speed = 0;
  for (const double speed : speeds) total_speed += speed;
  uint64_t moved = 0;
  for (RowId row = 0; row < fresh.members.size(); ++row) {
    for (const CodeEntry& entry : fresh.code->rows[row]) {
      moved += members_[fresh.members[row]].holds[entry.partition] ? 0 : 1;
    }
  }
  ReplanCase numbers;
  numbers.current_seconds = PredictStepSeconds(*plan_.code, speeds, per_partition);
  numbers.fresh_seconds = fresh.step_seconds;
  numbers.moved_seconds = static_cast<double>(moved) * per_partition / total_speed;
  numbers.remaining_steps = options_.steps - step_;
  return WorthReplanning(numbers) && SureToGain(fresh);
}

// A fresh plan is fitted to what chance did to the speeds: it has to be the better one also if
// chance favoured it.
bool CodedScheduler::SureToGain(const Plan& fresh) const {
  const double per_partition = static_cast<double>(options_.batch) / options_.partitions;
  const double current =
      PredictStepSeconds(*plan_.code, steady_.Of(plan_.members, kSure), per_partition);
  return PredictStepSeconds(*fresh.code, steady_.Of(fresh.members, -kSure), per_partition) <
         current;
}

void CodedScheduler::Adopt(Plan plan) {
  if (plan_.code != nullptr) ++totals_.replans;
  if (!plan.compromise.empty() && plan.compromise != plan_.compromise) Say(plan.compromise);
  plan_ = std::move(plan);
  plan_void_ = false;
  gains_ = 0;
  planned_at_ = step_;
}

void CodedScheduler::End(Status status) {
  phase_ = Phase::kEnded;
  out_->emplace_back(EndJob{std::move(status)});
}

void CodedScheduler::Say(std::string text) { out_->emplace_back(Notify{std::move(text)}); }

std::string CodedScheduler::LiveWords() const {
  const uint32_t live = members_.LiveCount();
  return fmt::format("{} {} on", live, live == 1 ? "worker goes" : "workers go");
}

Result<std::unique_ptr<Scheduler>> MakeCodedScheduler(const SchedulerOptions& options,
                                                      RowsToReplace rows_to_replace) {
  MOTLEY_RETURN_IF_ERROR(CheckOptions(options));
  if (rows_to_replace == nullptr) {
    return Status::InvalidArgument("the scheduler must be told how to judge absent rows");
  }
  CodeRequest request;
  request.speeds.assign(options.workers, 1.0);
  request.stragglers = options.code == "none" ? 0 : options.tolerate;
  request.partitions = options.partitions;
  request.seed = options.seed;
  // Whether the code can serve at all shows now, not when the workers are there.
  if (const auto code = BuildCode(options.code, request); !code.ok()) return code.status();
  return std::unique_ptr<Scheduler>(
      std::make_unique<CodedScheduler>(options, std::move(rows_to_replace)));
}

}  // namespace motley
