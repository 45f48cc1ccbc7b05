// SPDX-License-Identifier: Apache-2.0
// How AutoScheduler finds out what codes are worth: by running them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "scheduler/auto_scheduler.h"
#include "scheduler/policies.h"

namespace motley {
namespace {

const Candidate kPlain = {"proportional", 1};
// So far from the best prediction the step model may be wrong about which is better.
constexpr double kNear = 1.3;
constexpr size_t kMostContenders = 4;
constexpr uint32_t kMostTurns = 6;
constexpr uint64_t kTrialPart = 8;   // Of the steps that are left, trials may take one in so many.
constexpr uint64_t kFirstSteps = 6;  // That a contender's first turn takes at least.
// The most promising one is tried against the one that runs while so many are left.
constexpr uint64_t kLeast = 2, kLeastSteps = 24;
// What trials may lose altogether, in steps: at first, and of those that were done since.
constexpr double kMayLose = 8, kMayLosePart = 0.02;
constexpr double kMovingPart = 0.05;  // Of the time that is left, for data that a trial needs.
// Steps' worth of data: of those that need more, one is tried at a time, the most promising one.
constexpr double kMuchMoving = 10;
// Steps for which a trial waits for somebody to come back: of the best, be the one at hand slower.
constexpr uint32_t kMostAbsent = 32;
constexpr size_t kFewest = 2;       // Steps that a first comparison needs.
constexpr double kMuchSent = 0.05;  // Of the data, within a step: it shows in its time.
// What runs takes so much longer than what it was chosen for, by so many standard errors.
constexpr double kLonger = 0.1, kSurelyLonger = 2.5;

// In which part of the steps somebody is slow.
double OftenSlow(const PlannedCluster& cluster) {
  double nobody = 1;
  for (const PlannedWorker& worker : cluster.workers) nobody *= 1 - worker.slow_probability;
  return 1 - nobody;
}

// What a trial found of one that lost.
std::string Found(const Contender& one) {
  if (one.refused) return "does not serve";
  if (one.times.count() > 0) return Milliseconds(one.times.Mean());
  return "far more";
}

}  // namespace

void AutoScheduler::Measure(Time now) {
  const bool first = !applied_;
  step_seconds_ = first ? 0 : ToSeconds(now - *applied_);
  applied_ = now;
  // A row that is sent to another since its worker is slow is no such thing, but what that costs.
  data_arrives_ = observed_.sent() > kMuchSent || (data_arrives_ && policy_->DataInTheWay());
  disturbed_ = first || round_ || data_arrives_ || policy_->WaitsForCopies();
  if (round_) recent_ = StepTimes(kRecent);
  if (!disturbed_) recent_.Add(step_seconds_);
}

bool AutoScheduler::MayTry(const Candidate& candidate) const {
  return record_.MayTry(candidate, policy_->step() + 1, observed_.changes());
}

// Then whatever would be found is not taken.
bool AutoScheduler::TooShortForCopies() const {
  return options_.tolerate == 0 && current_.copies == 1 && recent_.count() >= kFewTimes &&
         recent_.Mean() < kLeastGainSeconds;
}

void AutoScheduler::StayWithout(std::vector<Command>& out) {
  const bool changed = std::exchange(changes_seen_, observed_.changes()) != observed_.changes();
  LookLater();
  if (changed) look_after_ = kFirstLook;
  if (std::exchange(decided_, true) || told_ == current_) return;
  Tell(fmt::format("{} a step, too short for copies to gain", Milliseconds(recent_.Mean())), out);
}

// Before anything is planned: what everything else is compared with, and often much better than
// leases where links are narrow or steps are short.
bool AutoScheduler::TryPlain(std::vector<Command>& out) {
  const bool may = options_.tolerate == 0 && !decided_ && current_ != kPlain;
  if (!may || options_.shares == Shares::kEqual || recent_.count() < kFewest) return false;
  if (std::exchange(tried_plain_, true)) return false;
  if (StepsLeft() < kTrialPart * kFirstSteps) return false;
  std::vector<Contender> contenders(2);
  contenders[0].candidate = kPlain;  // Undecided, it stays: where steps are short it costs less.
  contenders[1].candidate = current_;
  contenders[1].times = recent_;
  why_.assign(2, "");
  RunTrial(std::move(contenders), 1, out);
  return true;
}

// The model says so, or knows nothing of it: of leases on single copies, with which a job begins.
bool AutoScheduler::Serves(const Candidate& candidate, const Ranking& ranking) const {
  const auto at =
      std::find_if(ranking.schemes.begin(), ranking.schemes.end(),
                   [&](const PlannedScheme& planned) { return planned.candidate == candidate; });
  if (at == ranking.schemes.end()) return candidate == first_ && options_.tolerate == 0;
  return at->refused.empty() && at->exact;
}

// The one that runs first.
std::vector<Candidate> AutoScheduler::ToTry(const PlanRound& round, const Ranking& ranking) const {
  const PlannedCluster& cluster = round.request().cluster;
  const PlannedScheme& best = ranking.schemes.front();
  const double left = best.cost.expected * static_cast<double>(StepsLeft());
  std::vector<Candidate> all = {current_};
  double moving = 0;  // For all of them.
  bool moves_much = false;
  const auto add = [&](const Candidate& candidate, bool pays = false) {
    if (!Serves(candidate, ranking) || all.size() == kMostContenders) return;
    if (std::find(all.begin(), all.end(), candidate) != all.end() || !MayTry(candidate)) return;
    const double more = SwitchSeconds(current_, candidate, cluster);
    if (!pays && moving + more > kMovingPart * left) return;
    const bool much = more > kMuchMoving * best.cost.expected;
    if (much && std::exchange(moves_much, true)) return;
    moving += more;
    all.push_back(candidate);
  };
  Contender running = Contending(current_, round, ranking);
  running.times = before_round_;
  const double measured = running.times.count() >= kFewTimes ? running.Score() : 0;
  if (Foreseen(current_, ranking) != nullptr) {
    if (const auto better = ReDecide(current_, ranking, cluster, measured)) add(*better, true);
  }
  if (!decided_) add(round.Best(ranking));
  add(kPlain);
  // Where what runs is far from the best prediction, that was found wrong.
  const double near = std::max(kNear * best.Total(), measured);
  for (const PlannedScheme& planned : ranking.schemes) {
    if (planned.Total() <= near) add(planned.candidate);
  }
  add(first_);
  return all;
}

Contender AutoScheduler::Contending(const Candidate& candidate, const PlanRound& round,
                                    const Ranking& ranking) const {
  const PlannedScheme* planned = Foreseen(candidate, ranking);
  // Of single copies that are leased, at most what it is of plain shares.
  if (planned == nullptr && round.plain()) planned = &*round.plain();
  Contender one;
  one.candidate = candidate;
  one.often = OftenSlow(round.request().cluster);
  one.moving = SwitchSeconds(current_, candidate, round.request().cluster);
  if (planned != nullptr && planned->cost.undisturbed > 0) {
    one.foreseen = planned->cost.expected;
    one.insured = std::max(0.0, planned->cost.expected / planned->cost.undisturbed - 1);
  }
  return one;
}

double AutoScheduler::MayLose() const {
  const auto done = static_cast<double>(policy_->step() + 1 - options_.first_step);
  return kMayLose + kMayLosePart * done - lost_;
}

// It was chosen for few steps that were better by chance, or what it is like has changed.
bool AutoScheduler::Disappoints() const {
  if (chosen_at_ == 0 || recent_.count() < kRecent) return false;
  return recent_.Mean() - kSurelyLonger * recent_.Error() > (1 + kLonger) * chosen_at_;
}

// Who lost against it lost against something else, and so did the steps that this took.
void AutoScheduler::StartOver() {
  record_ = TrialRecord();
  lost_ = 0;
  chosen_at_ = 0;
  look_after_ = 0;
}

// False: there is nothing to be tried, or no time for it.
bool AutoScheduler::BeginTrial(const PlanRound& round, const Ranking& ranking,
                               std::vector<Command>& out) {
  if (!Serves(current_, ranking)) return false;  // It cannot go on as it is.
  std::vector<Candidate> all = ToTry(round, ranking);
  const uint64_t most = std::max(kLeast, StepsLeft() / kTrialPart / kFirstSteps);
  if (all.size() > most) all.resize(most);
  if (all.size() < 2 || StepsLeft() < kLeastSteps || MayLose() <= 0) return false;
  std::vector<Contender> contenders;
  why_.clear();
  for (const Candidate& candidate : all) {
    contenders.push_back(Contending(candidate, round, ranking));
    why_.push_back(WhyChosen(candidate, ranking, round));
  }
  RunTrial(std::move(contenders), kMostTurns, out);
  return true;
}

void AutoScheduler::RunTrial(std::vector<Contender> contenders, uint32_t most_turns,
                             std::vector<Command>& out) {
  before_trial_ = current_;
  tried_with_ = policy_->members().Candidates();
  without_some_ = 0;
  without_seconds_ = 0;
  trial_.emplace(std::move(contenders), most_turns, StepsLeft() / 2, MayLose());
  FollowTrial(out);
}

void AutoScheduler::GoOnTrying(std::vector<Command>& out) {
  if (policy_->members().Candidates() != tried_with_) {  // What is measured is of others.
    without_seconds_ += step_seconds_;
    const double usual = trial_->usual();
    const bool long_ago = usual > 0 && without_seconds_ > kMostAbsent * usual;
    if (++without_some_ < kMostAbsent && !long_ago) return;
    lost_ += trial_->lost();
    trial_.reset();
    if (current_ != before_trial_) ChangeTo(before_trial_);
    looked_ = policy_->step() + 1;
    look_after_ = kLookAfterChange;
    return;
  }
  without_some_ = 0;
  without_seconds_ = 0;
  if (current_ != trial_->running()) {
    trial_->Refuse();  // Its answers did not decode.
  } else {
    trial_->Step(step_seconds_, !disturbed_);
  }
  FollowTrial(out);
}

void AutoScheduler::FollowTrial(std::vector<Command>& out) {
  while (!trial_->over() && current_ != trial_->running()) {
    if (ChangeTo(trial_->running())) break;
    trial_->Refuse();
  }
  if (trial_->over()) Conclude(out);
}

void AutoScheduler::Conclude(std::vector<Command>& out) {
  const CodeTrial trial = *std::exchange(trial_, std::nullopt);
  lost_ += trial.lost();
  const Contender& winner = trial.winner();
  if (current_ != winner.candidate) ChangeTo(winner.candidate);
  const StepId next = policy_->step() + 1;
  std::string why, others, found = "not measured";
  double measured = 0;
  for (size_t i = 0; i < trial.contenders().size(); ++i) {
    const Contender& one = trial.contenders()[i];
    if (one.candidate == current_) {
      record_.Won(current_);
      measured = one.times.Mean();
      if (measured > 0) found = Milliseconds(measured) + " a step";
      why = why_[i];
    } else if (one.out || one.times.count() > 0) {
      ++trials_;
      record_.Lost(one.candidate, next, observed_.changes());
      others += fmt::format("{}{}: {}", others.empty() ? " (" : "; ", NameOfChoice(one.candidate),
                            Found(one));
    }
  }
  looked_ = next;
  chosen_at_ = measured;
  const bool changed = current_ != before_trial_;
  if (changed) look_after_ = kFirstLook;
  if (!why.empty()) decided_ = true;  // Else nothing was planned yet.
  const bool told = !choices_.empty() && told_ == current_;
  if (!others.empty()) others += ")";
  const std::string text = found + others + (why.empty() ? "" : "; ") + why;
  if (!told) return Tell(text, out);
  out.emplace_back(Notify{fmt::format("code: {}, as before: {}", NameOfChoice(current_), text)});
}

}  // namespace motley
