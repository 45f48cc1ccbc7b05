// SPDX-License-Identifier: Apache-2.0
#include "planner/auto/auto_scheduler.h"

#include <algorithm>
#include <utility>

#include "base/counted.h"
#include "base/random.h"
#include "coding/schemes.h"
#include "planner/policies.h"

namespace motley {
namespace {

// The first decision comes at the latest after this many steps, even if some workers were not
// measured.
constexpr uint64_t kFirstDecision = 16;
constexpr uint64_t kFewSteps = 10;  // With no more steps left than this, planning is not worth it.
// Steps between rounds. The first number holds after a choice, and the number doubles up to the
// last one while nothing changes. The third holds after a worker came, went or changed its speed
// for good.
constexpr uint64_t kFirstLook = 8, kLastLook = 2048, kLookAfterChange = 4;
constexpr Duration kFirstTry = std::chrono::milliseconds(1);  // Commands go out first.
// Parts of the time that planning may take, within a round and between rounds.
constexpr double kTryPart = 0.25, kRoundPart = 0.02;
// A step in which a larger part of the data is sent takes longer because of it.
constexpr double kMuchSent = 0.05;
// Data later than this many times their usual time are not awaited any more.
constexpr double kDataLate = 2;
// A choice is reviewed after kSoon steps if they took this many times longer than steps before.
constexpr double kFarLonger = 2;
constexpr size_t kSoon = 2;
constexpr uint32_t kInsuredCopies = 3;
// Batches that a step computes; more means that parts are computed twice.
constexpr double kMoreWork = 1.1;
constexpr uint64_t kForgotten = 500;  // After this many steps a scheme may be better than it was.
// For the random draws of the campaign.
constexpr uint64_t kDraws = 77;

// The candidate of a job that knows nothing yet.
Candidate FirstOf(const SchedulerOptions& options) {
  const uint32_t copies = options.tolerate + 1;
  const bool room = options.most_sums == 0 || options.workers <= options.most_sums;
  // Equal shares mean that speeds do not count and sums are reproducible.
  const bool rows = options.workers == 1 || !room || options.shares == Shares::kEqual;
  if (rows) return {copies == 1 ? kPlain.scheme : "repetition", copies};
  return {kLeases.scheme, copies};
}

// The job's options while it runs this candidate.
SchedulerOptions OptionsOf(const Candidate& candidate, SchedulerOptions options) {
  const Scheme& scheme = SchemeNamed(candidate.scheme);
  options.code = candidate.scheme;
  options.tolerate = scheme.Tolerates(candidate.copies);
  options.most_workers = candidate.workers;
  if (scheme.has_parts) options.parts = scheme.Parts(candidate.copies);
  return options;
}

}  // namespace

AutoScheduler::AutoScheduler(SchedulerOptions options, Candidate current,
                             std::unique_ptr<JobScheduler> job)
    : options_(std::move(options)),
      observed_(options_),
      job_(std::move(job)),
      current_(std::move(current)),
      looked_(options_.first_step) {}

void AutoScheduler::OnEvent(const Event& event, Time now, std::vector<Command>& out) {
  observed_.See(event, now, job_->state());
  if (std::holds_alternative<OwnersPlaced>(event)) ForgetTimes(now);
  const auto* applied = std::get_if<StepApplied>(&event);
  // Without a worker there is nothing to choose for.
  const bool between = applied != nullptr && job_->BetweenSteps() &&
                       applied->step == job_->state().version &&
                       job_->state().members.ReadyCount() > 0;
  if (between) BetweenSteps(now, out);
  const bool own_tick = std::holds_alternative<Tick>(event) && now >= try_due_;
  if (own_tick) Try(now);
  if (own_tick && now < job_->Deadline()) return;
  const size_t before = out.size();
  job_->OnEvent(event, now, out);
  for (size_t i = before; i < out.size(); ++i) observed_.See(out[i], now, job_->state());
}

Time AutoScheduler::Deadline() const { return std::min(job_->Deadline(), try_due_); }

SchedulerStats AutoScheduler::Stats() const {
  SchedulerStats stats = job_->Stats();
  stats.code = job_->state().options.code;
  stats.choices = choices_;
  return stats;
}

// --- Between steps ---

void AutoScheduler::BetweenSteps(Time now, std::vector<Command>& out) {
  Measure(now);
  NoticeGivenUp();
  if (options_.draw_codes_every > 0) return Draw(out);
  if (!decided_ && !insured_) InsureAtOnce();
  if (round_ && round_->done()) return Decide(now, out);
  if (round_ || !WorthALook(now)) return;
  if (TooShortForCopies()) return StayWithout(out);
  Begin(now);
}

void AutoScheduler::Measure(Time now) {
  const bool first = !applied_;
  step_seconds_ = first ? 0 : ToSeconds(now - *applied_);
  applied_ = now;
  // A row that is sent to another worker because its worker is slow does not count as sent data.
  // Its cost belongs to the scheme.
  const double sent = observed_.sent();
  if (sent > kMuchSent) data_due_ = now + FromSeconds(kDataLate * sent * observed_.DataSeconds());
  data_arrives_ =
      sent > kMuchSent || (data_arrives_ && job_->state().transfers.InTheWay() && now < data_due_);
  if (first || round_ || data_arrives_ || job_->state().transfers.wants_copies()) return;
  recent_.Add(step_seconds_);
  observed_.Took(step_seconds_);
}

// Other nodes own the vector now. What steps took before, and a round about them, no longer count.
void AutoScheduler::ForgetTimes(Time now) {
  recent_ = StepTimes(kRecent);
  usual_ = 0;
  left_.reset();
  if (!round_) return;
  round_.reset();
  try_due_ = kNever;
  rest_until_ = now + FromSeconds(round_seconds_ / kRoundPart);
}

// Leases run already, so more copies cost only the sending of their data. The first step showed how
// long that takes.
void AutoScheduler::InsureAtOnce() {
  const auto copies = std::min<uint32_t>(kInsuredCopies, job_->state().members.ReadyCount());
  if (step_seconds_ == 0 || current_.scheme != kLeases.scheme) return;
  insured_ = true;
  if (options_.shares == Shares::kEqual || copies <= current_.copies) return;
  if (StepsLeft() < kFewSteps) return;
  const double moving = (copies - current_.copies) * observed_.DataSeconds();
  if (InsuranceIsCheap(step_seconds_, moving, StepsLeft())) ChangeTo({kLeases.scheme, copies});
}

uint64_t AutoScheduler::StepsLeft() const {
  const StepId next = job_->state().version + 1;
  return options_.steps - std::min(options_.steps, next);
}

bool AutoScheduler::WorthALook(Time now) const {
  const StepId next = job_->state().version + 1;
  if (options_.shares == Shares::kEqual || StepsLeft() < kFewSteps) return false;
  if (!decided_) {
    const bool seen = recent_.count() >= kFewTimes || current_.copies > options_.tolerate + 1;
    return (seen && observed_.Known(job_->state())) || next >= options_.first_step + kFirstDecision;
  }
  if (IsFarWorse()) return confirmed_ ? now >= rest_until_ : true;
  if (!confirmed_) return recent_.count() >= kFirstLook || next >= looked_ + 4 * kFirstLook;
  const bool changed = observed_.changes() != changes_seen_;
  const uint64_t after = changed ? std::min(kLookAfterChange, look_after_) : look_after_;
  return now >= rest_until_ && next >= looked_ + after;
}

// True if steps are so short that no scheme with copies could gain enough.
bool AutoScheduler::TooShortForCopies() const {
  return options_.tolerate == 0 && current_.copies == 1 && recent_.count() >= kFewTimes &&
         recent_.Mean() < kLeastGainSeconds;
}

void AutoScheduler::StayWithout(std::vector<Command>& out) {
  changes_seen_ = observed_.changes();
  LookLater();
  confirmed_ = true;
  if (std::exchange(decided_, true) && told_ == current_) return;
  const double took = recent_.Mean();
  if (current_ != kPlain && !ChangeTo(kPlain)) return;
  Tell({.kind = ChoiceReason::Kind::kTooShort, .took = took}, out);
}

void AutoScheduler::Begin(Time now) {
  RoundRequest request;
  request.workers = job_->state().members.Candidates();
  if (request.workers.empty()) return;
  request.cluster = observed_.Cluster(job_->state());
  request.partitions = options_.partitions;
  request.tolerate = std::min(options_.tolerate, static_cast<uint32_t>(request.workers.size()) - 1);
  request.most_sums = options_.most_sums;
  request.without = without_;
  request.running = current_;
  changes_seen_ = observed_.changes();
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
  confirmed_ = true;
  if (changed && round.request().workers != job_->state().members.Candidates()) {
    look_after_ = kLookAfterChange;  // The round was about other workers.
    return;
  }
  const Result<Ranking> ranking = round.Rank();
  if (!ranking.ok()) return;
  if (BrokeItsPromise(*ranking)) return Take(left_->candidate, round, *ranking, out);
  const auto factor = FactorOf(current_, *ranking, round.request().cluster);
  if (factor && decided_) Learn(current_.scheme, *factor);
  const ChoiceRequest request = {current_, !decided_, experience_, options_.unweighted};
  if (const auto chosen = Choose(request, *ranking, round.request().cluster)) {
    Take(*chosen, round, *ranking, out);
  }
}

void AutoScheduler::Take(Candidate chosen, const PlanRound& round, const Ranking& ranking,
                         std::vector<Command>& out) {
  std::string replaced;
  usual_ = recent_.Mean();
  if (chosen != current_) {
    const PlannedScheme *to = Foreseen(chosen, ranking), *from = Foreseen(current_, ranking);
    left_.reset();
    if (to != nullptr && from != nullptr && to->cost.work > kMoreWork * from->cost.work) {
      const double before = recent_.count() > 0 ? recent_.Median() : step_seconds_;
      left_ = Left{current_, before, to->cost.expected};
    }
    if (usual_ > 0) replaced = NameOfChoice(current_);
    if (!ChangeTo(chosen)) {
      look_after_ = kLookAfterChange;
      return;
    }
    confirmed_ = false;
    look_after_ = kFirstLook;
  }
  if (std::exchange(decided_, true) && told_ == current_) return;
  const RoundRequest& request = round.request();
  ChoiceReason why = WhyChosen(current_, ranking, request.cluster, request.workers);
  why.before = std::move(replaced);
  why.took = why.before.empty() ? 0 : usual_;
  Tell(why, out);
}

// Judges a change once. After a broken promise, the predictions for the scheme, and for others that
// compute as much, are multiplied by the observed factor.
bool AutoScheduler::BrokeItsPromise(const Ranking& ranking) {
  if (!left_ || recent_.count() < kFirstLook) return false;
  const double took = recent_.Median(), promised = std::exchange(left_->promised, 0);
  if (promised == 0 || took <= left_->seconds) return false;
  for (const PlannedScheme& planned : ranking.schemes) {
    const bool more = planned.refused.empty() && planned.cost.work > kMoreWork;
    if (more) Learn(planned.candidate.scheme, took / promised);
  }
  return true;
}

void AutoScheduler::Learn(const std::string& scheme, double factor) {
  const StepId next = job_->state().version + 1;
  std::erase_if(experience_, [&](const Experience& one) {
    return one.scheme == scheme || next > one.step + kForgotten;
  });
  experience_.push_back({scheme, factor, next});
}

bool AutoScheduler::IsFarWorse() const {
  return usual_ > 0 && recent_.count() >= kSoon && recent_.Mean() > kFarLonger * usual_;
}

void AutoScheduler::LookLater() {
  looked_ = job_->state().version + 1;
  look_after_ = std::clamp(2 * look_after_, kFirstLook, kLastLook);
}

// For the simulator's campaign: draws any other scheme, whatever its predicted time.
void AutoScheduler::Draw(std::vector<Command>& out) {
  const StepId next = job_->state().version + 1;
  if (next % options_.draw_codes_every != 0 || next >= options_.steps) return;
  Random random(options_.seed, Stream::kSimulation, kDraws, next);
  const auto present = static_cast<uint32_t>(job_->state().members.Candidates().size());
  const std::vector<Candidate> all = CandidatesFor(std::max(1U, present), 3);
  const Candidate& drawn = all[random.Below(all.size())];
  const Scheme& scheme = SchemeNamed(drawn.scheme);
  const bool fits = scheme.for_auto && !(options_.unweighted && scheme.weighs);
  if (!fits || !ChangeTo(drawn)) return;
  Tell({.kind = ChoiceReason::Kind::kDrawn}, out);
}

// Returns false if the candidate cannot serve; it is not tried again.
bool AutoScheduler::ChangeTo(const Candidate& candidate) {
  if (!job_->ChangeTo(OptionsOf(candidate, options_)).ok()) {
    without_.push_back(candidate);
    return false;
  }
  current_ = candidate;
  recent_ = StepTimes(kRecent);
  observed_.Change();
  return true;
}

void AutoScheduler::Tell(const ChoiceReason& why, std::vector<Command>& out) {
  const uint32_t tolerate = job_->state().options.tolerate;
  const uint32_t before = choices_.empty() ? options_.tolerate : choices_.back().tolerate;
  told_ = current_;
  choices_.push_back({job_->state().version + 1, job_->state().options.code, tolerate, why});
  if (tolerate != before) {
    out.emplace_back(Notify{notice::ToleranceChanged{NameOfChoice(current_), tolerate}});
  }
  out.emplace_back(Notify{notice::CodeChosen{NameOfChoice(current_), why}});
}

// If answers did not decode, the job went on without a code.
void AutoScheduler::NoticeGivenUp() {
  if (job_->state().options.code == current_.scheme) return;
  without_.push_back(current_);
  current_ = kPlain;
}

Result<std::unique_ptr<Scheduler>> MakeAutoScheduler(const SchedulerOptions& options) {
  MOTLEY_RETURN_IF_ERROR(CheckJobOptions(options));
  const Candidate first = FirstOf(options);
  MOTLEY_ASSIGN_OR_RETURN(auto job, JobScheduler::Make(OptionsOf(first, options)));
  return std::unique_ptr<Scheduler>(
      std::make_unique<AutoScheduler>(options, first, std::move(job)));
}

}  // namespace motley
