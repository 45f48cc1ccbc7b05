// SPDX-License-Identifier: Apache-2.0
#include "scheduler/auto_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "scheduler/policies.h"

namespace motley {
namespace {

// At the latest after so many steps there is a decision, whoever was not measured by then.
constexpr uint64_t kFirstDecision = 16;
constexpr uint64_t kFewSteps = 10;  // Are left: nothing is worth planning for.
constexpr Duration kFirstTry = std::chrono::milliseconds(1);  // Commands go out first.
constexpr double kTryPart = 0.25, kRoundPart = 0.02;  // Of the time, within a round and between.
// Of the campaign's draws.
constexpr uint64_t kDraws = 77;

// What a job does before it knows anything.
Candidate FirstOf(const SchedulerOptions& options) {
  const uint32_t copies = options.tolerate + 1;
  const bool room = options.most_sums == 0 || options.workers <= options.most_sums;
  // Equal shares are asked for where speeds are not to count, and sums are to be the same.
  const bool rows = options.workers == 1 || !room || options.shares == Shares::kEqual;
  if (rows) return {copies == 1 ? "proportional" : "repetition", copies};
  return {"adaptive", copies};
}

Result<std::unique_ptr<BulkSynchronous>> MakePolicy(const Candidate& candidate,
                                                    SchedulerOptions options,
                                                    const RowsToReplace& rows_to_replace) {
  const JobScheme* scheme = JobSchemeOf(candidate.scheme);
  if (scheme == nullptr) return Status::NotFound("no job can run " + candidate.scheme);
  options.code = scheme->code;
  options.tolerate = scheme->Tolerates(candidate.copies);
  options.most_workers = candidate.workers;
  if (scheme->parts) options.parts = scheme->Parts(candidate.copies);
  return MakeBulkSynchronous(options, rows_to_replace);
}

}  // namespace

AutoScheduler::AutoScheduler(SchedulerOptions options, RowsToReplace rows_to_replace,
                             Candidate current, std::unique_ptr<BulkSynchronous> first)
    : options_(std::move(options)),
      rows_to_replace_(std::move(rows_to_replace)),
      observed_(options_),
      policy_(std::move(first)),
      first_(std::move(current)),
      current_(first_),
      looked_(options_.first_step) {}

void AutoScheduler::OnEvent(const Event& event, Time now, std::vector<Command>& out) {
  observed_.See(event, now, *policy_);
  const auto* applied = std::get_if<StepApplied>(&event);
  // Without a worker there is nothing to choose for.
  const bool between = applied != nullptr && policy_->BetweenSteps() &&
                       applied->step == policy_->step() && policy_->members().ReadyCount() > 0;
  if (between) BetweenSteps(now, out);
  const bool own_tick = std::holds_alternative<Tick>(event) && now >= try_due_;
  if (own_tick) Try(now);
  if (own_tick && now < policy_->Deadline()) return;
  const size_t before = out.size();
  policy_->OnEvent(event, now, out);
  for (size_t i = before; i < out.size(); ++i) observed_.See(out[i], now, *policy_);
}

Time AutoScheduler::Deadline() const { return std::min(policy_->Deadline(), try_due_); }

SchedulerStats AutoScheduler::Stats() const {
  SchedulerStats stats = policy_->Stats();
  stats.code = policy_->options().code;
  stats.choices = choices_;
  stats.trials = trials_;
  return stats;
}

// --- Between steps ---

void AutoScheduler::BetweenSteps(Time now, std::vector<Command>& out) {
  Measure(now);
  NoticeGivenUp();
  if (options_.draw_codes_every > 0) return Draw(out);
  if (trial_) return GoOnTrying(out);
  if (round_ && round_->done()) return Decide(now, out);
  if (Disappoints()) StartOver();
  if (TryPlain(out) || round_ || !WorthALook() || now < rest_until_) return;
  if (TooShortForCopies()) return StayWithout(out);
  Begin(now);
}

uint64_t AutoScheduler::StepsLeft() const {
  const StepId next = policy_->step() + 1;
  return options_.steps - std::min(options_.steps, next);
}

bool AutoScheduler::WorthALook() const {
  const StepId next = policy_->step() + 1;
  if (options_.shares == Shares::kEqual || StepsLeft() < kFewSteps) return false;
  if (!decided_) {
    const bool known = observed_.Known(*policy_) && recent_.count() >= kFewTimes;
    return known || next >= options_.first_step + kFirstDecision;
  }
  const bool changed = observed_.changes() != changes_seen_;
  return next >= looked_ + (changed ? std::min(kLookAfterChange, look_after_) : look_after_);
}

void AutoScheduler::Begin(Time now) {
  RoundRequest request;
  request.workers = policy_->members().Candidates();
  if (request.workers.empty()) return;
  request.cluster = observed_.Cluster(*policy_);
  request.partitions = options_.partitions;
  request.tolerate = std::min(options_.tolerate, static_cast<uint32_t>(request.workers.size()) - 1);
  request.most_sums = options_.most_sums;
  request.without = without_;
  request.running = current_;
  changes_seen_ = observed_.changes();
  before_round_ = recent_;
  round_.emplace(std::move(request));
  round_seconds_ = 0;
  try_due_ = now + kFirstTry;
}

void AutoScheduler::Try(Time now) {
  try_due_ = kNever;
  if (!round_ || round_->done()) return;
  const double seconds = round_->TryNext();
  round_seconds_ += seconds;
  if (!round_->done()) try_due_ = now + FromSeconds(seconds / kTryPart);
}

void AutoScheduler::Decide(Time now, std::vector<Command>& out) {
  const PlanRound round = std::move(*round_);
  round_.reset();
  rest_until_ = now + FromSeconds(round_seconds_ / kRoundPart);
  const bool changed = observed_.changes() != changes_seen_;
  LookLater();
  if (changed && round.request().workers != policy_->members().Candidates()) {
    look_after_ = kLookAfterChange;  // It was about others.
    return;
  }
  const Result<Ranking> ranking = round.Rank();
  if (!ranking.ok()) return;
  if (BeginTrial(round, *ranking, out)) return;
  const bool serves = Serves(current_, *ranking);
  if (serves && decided_) return;
  if (!serves && !ChangeTo(ranking->schemes.front().candidate)) return;
  decided_ = true;
  Tell(WhyChosen(current_, *ranking, round), out);
}

void AutoScheduler::LookLater() {
  looked_ = policy_->step() + 1;
  look_after_ = std::clamp(2 * look_after_, kFirstLook, kLastLook);
}

// For the simulator's campaign: any other, whatever the planner thinks of it.
void AutoScheduler::Draw(std::vector<Command>& out) {
  const StepId next = policy_->step() + 1;
  if (next % options_.draw_codes_every != 0 || next >= options_.steps) return;
  Random random(options_.seed, Stream::kSimulation, kDraws, next);
  const auto present = static_cast<uint32_t>(policy_->members().Candidates().size());
  const std::vector<Candidate> all = CandidatesFor(std::max(1U, present), 3);
  const Candidate& drawn = all[random.Below(all.size())];
  if (JobSchemeOf(drawn.scheme) == nullptr || !ChangeTo(drawn)) return;
  Tell("drawn", out);
}

// False: it cannot serve, and is not tried again.
bool AutoScheduler::ChangeTo(const Candidate& candidate) {
  auto made = MakePolicy(candidate, options_, rows_to_replace_);
  if (!made.ok()) {
    without_.push_back(candidate);
    return false;
  }
  (*made)->GoOnFrom(*policy_);
  policy_ = std::move(made).value();
  current_ = candidate;
  chosen_at_ = 0;
  recent_ = StepTimes(kRecent);
  return true;
}

void AutoScheduler::Tell(const std::string& why, std::vector<Command>& out) {
  told_ = current_;
  choices_.push_back(
      {policy_->step() + 1, policy_->options().code, policy_->options().tolerate, why});
  out.emplace_back(Notify{fmt::format("code: {}; {}", NameOfChoice(current_), why)});
}

// Its answers did not decode, so it went on without a code.
void AutoScheduler::NoticeGivenUp() {
  const JobScheme* scheme = JobSchemeOf(current_.scheme);
  if (scheme == nullptr || policy_->options().code == scheme->code) return;
  without_.push_back(current_);
  current_ = {"proportional", 1};
}

Result<std::unique_ptr<Scheduler>> MakeAutoScheduler(const SchedulerOptions& options,
                                                     RowsToReplace rows_to_replace) {
  MOTLEY_RETURN_IF_ERROR(CheckBulkOptions(options));
  const Candidate first = FirstOf(options);
  MOTLEY_ASSIGN_OR_RETURN(auto policy, MakePolicy(first, options, rows_to_replace));
  return std::unique_ptr<Scheduler>(std::make_unique<AutoScheduler>(
      options, std::move(rows_to_replace), first, std::move(policy)));
}

}  // namespace motley
