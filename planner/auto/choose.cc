// SPDX-License-Identifier: Apache-2.0
#include "planner/auto/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "coding/schemes.h"

namespace motley {
namespace {

// A change must gain this part of a step. The small one is enough for the same scheme, for the
// first choice, and for plain shares, which hold no surprise.
constexpr double kGain = 0.1, kSmallGain = 0.05;
// The part of a step that insurance against unseen stragglers may cost.
constexpr double kPremium = 0.1;
// Sending copies for insurance may take this part of the remaining time, and this many steps. The
// trouble they insure against could otherwise come first, and they delay steps meanwhile.
constexpr double kMovingPart = 0.03, kMovingSteps = 5;
constexpr double kPayBack = 2;
constexpr double kAsMuch = 0.02;     // Gains that differ by less of a step count as equal.
constexpr double kOftenSlow = 0.01;  // A worker that is slow in more of its steps is named.
// The least number of rounds that say something about a scheme, and the most that are used.
constexpr size_t kFewRounds = 2, kMostRounds = 8;

std::optional<ChoiceReason::Feared> MostFeared(const PlannedCluster& cluster,
                                               const std::vector<WorkerId>& ids) {
  size_t worst = 0;
  const auto& workers = cluster.workers;
  for (size_t w = 0; w < workers.size(); ++w) {
    if (workers[w].slow_probability > workers[worst].slow_probability) worst = w;
  }
  const double often = workers[worst].slow_probability;
  if (often < kOftenSlow) return std::nullopt;
  return ChoiceReason::Feared{ids.empty() ? static_cast<WorkerId>(worst) : ids[worst], often};
}

// The part of the gain of `other` over `running` that may be chance: twice the standard error of
// the differences between their replays. 0 without replays, because the model has no luck.
double Chance(const PlannedScheme& running, const PlannedScheme& other) {
  const auto& a = running.cost.rounds;
  const auto& b = other.cost.rounds;
  if (a.size() != b.size() || a.empty()) return 0;
  const auto n = static_cast<double>(a.size());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] - b[i];
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  }
  return 2 * std::sqrt(std::max(0.0, squares / n - sum * sum / n / n) / n);
}

// Predicted step times of each scheme, corrected by observations.
class Corrected {
 public:
  Corrected(const ChoiceRequest& request, const Ranking& ranking, const PlannedCluster& cluster)
      : request_(request), running_(Foreseen(request.running, ranking)) {
    if (request.first) return;  // Unknown speeds made steps longer.
    if (const auto factor = FactorOf(request.running, ranking, cluster)) factor_ = *factor;
    for (const Experience& one : request.before) {
      if (one.scheme == request.running.scheme && factor_ == 1) factor_ = one.factor;
    }
  }

  double Seconds(const PlannedScheme& planned) const {
    const double foreseen = planned.cost.expected;
    if (planned.candidate.scheme == request_.running.scheme) return foreseen * factor_;
    for (const Experience& one : request_.before) {
      if (one.scheme == planned.candidate.scheme) return foreseen * one.factor;
    }
    if (planned.candidate == kPlain || running_ == nullptr) return foreseen;
    // Costs that the model does not know are assumed to be the same for other schemes.
    return foreseen + std::max(0.0, factor_ - 1) * running_->cost.expected;
  }

 private:
  const ChoiceRequest& request_;
  const PlannedScheme* running_;
  double factor_ = 1;
};

// A job that knows little takes leases with copies where they cost hardly anything. They compute
// nothing twice, and a worker that becomes slow later does not hold up steps.
const PlannedScheme* Insured(const PlannedScheme& running, const Corrected& corrected,
                             const Ranking& ranking, const PlannedCluster& cluster) {
  const PlannedScheme* plain = Foreseen(kPlain, ranking);
  const double best = plain == nullptr
                          ? corrected.Seconds(running)
                          : std::min(corrected.Seconds(*plain), corrected.Seconds(running));
  for (const uint32_t copies : {3, 2}) {
    const PlannedScheme* leases = Foreseen({kLeases.scheme, copies}, ranking);
    if (leases == nullptr) continue;
    if (corrected.Seconds(*leases) + kLeastGainSeconds > (1 + kPremium) * best) continue;
    const double moving = SwitchSeconds(running.candidate, leases->candidate, cluster);
    if (InsuranceIsCheap(best, moving, cluster.remaining_steps)) return leases;
  }
  return plain != nullptr ? plain : &running;
}

}  // namespace

bool InsuranceIsCheap(double step_seconds, double moving_seconds, uint64_t steps) {
  const double most = std::min(kMovingPart * static_cast<double>(steps), kMovingSteps);
  return kLeastGainSeconds < kPremium * step_seconds && moving_seconds < most * step_seconds;
}

std::optional<double> FactorOf(const Candidate& running, const Ranking& ranking,
                               const PlannedCluster& cluster) {
  const PlannedScheme* planned = Foreseen(running, ranking);
  if (planned == nullptr || planned->cost.rounds.size() != cluster.rounds.size()) return {};
  std::vector<double> factors;
  for (size_t i = cluster.rounds.size(); i-- > 0 && factors.size() < kMostRounds;) {
    const double seconds = cluster.rounds[i].seconds;
    if (seconds > 0) factors.push_back(seconds / planned->cost.rounds[i]);
  }
  if (factors.size() < kFewRounds) return {};
  std::sort(factors.begin(), factors.end());
  return factors[(factors.size() - 1) / 2];
}

std::optional<Candidate> Choose(const ChoiceRequest& request, const Ranking& ranking,
                                const PlannedCluster& cluster) {
  const PlannedScheme* running = Foreseen(request.running, ranking);
  const Corrected corrected(request, ranking, cluster);
  const auto steps = static_cast<double>(cluster.remaining_steps);
  const auto moving = [&](const Candidate& to) {
    return SwitchSeconds(request.running, to, cluster);
  };
  std::vector<const PlannedScheme*> able;
  for (const PlannedScheme& planned : ranking.schemes) {
    const Scheme& scheme = SchemeNamed(planned.candidate.scheme);
    const bool wanted = scheme.for_auto && !(request.unweighted && scheme.weighs);
    if (wanted && planned.refused.empty() && planned.exact) able.push_back(&planned);
  }
  if (able.empty()) return {};
  if (running == nullptr && request.first) running = Foreseen(kPlain, ranking);
  if (running == nullptr) return able.front()->candidate;  // The running scheme cannot go on.
  if (request.first) running = Insured(*running, corrected, ranking, cluster);
  const double now = corrected.Seconds(*running);
  struct Gain {
    const PlannedScheme* planned;
    double gained, moving;  // Total seconds.
  };
  std::vector<Gain> gains;
  double most = 0;
  for (const PlannedScheme* planned : able) {
    const Candidate& candidate = planned->candidate;
    const double gain = now - corrected.Seconds(*planned);
    const double gained = gain * steps - kPayBack * moving(candidate);
    const bool same =
        request.first || candidate == kPlain || candidate.scheme == running->candidate.scheme;
    const bool copies = candidate.copies > running->candidate.copies;
    const double least = (same ? kSmallGain : kGain) * now;
    if (gain < std::max(least, copies ? kLeastGainSeconds : 0) || gained <= 0) continue;
    if (gain < Chance(*running, *planned)) continue;
    gains.push_back({planned, gained, moving(candidate)});
    most = std::max(most, gained);
  }
  // Among equal gains, the scheme that sends least wins.
  std::erase_if(gains, [&](const Gain& one) { return one.gained < most - kAsMuch * now * steps; });
  const auto best = std::min_element(
      gains.begin(), gains.end(), [](const Gain& a, const Gain& b) { return a.moving < b.moving; });
  return best == gains.end() ? running->candidate : best->planned->candidate;
}

const PlannedScheme* Foreseen(const Candidate& candidate, const Ranking& ranking) {
  const auto at = std::find_if(ranking.schemes.begin(), ranking.schemes.end(),
                               [&](const PlannedScheme& p) { return p.candidate == candidate; });
  return at == ranking.schemes.end() || !at->refused.empty() ? nullptr : &*at;
}

std::string NameOfChoice(const Candidate& candidate) {
  std::string name = candidate.scheme;
  if (candidate.copies > 1) name += fmt::format(", {} copies", candidate.copies);
  const uint32_t parts = SchemeNamed(candidate.scheme).Parts(candidate.copies);
  if (parts > 1) name += fmt::format(", answers 1/{} as long", parts);
  if (candidate.workers > 0) {
    name += fmt::format(", {} worker{}", candidate.workers, candidate.workers == 1 ? "" : "s");
  }
  return name;
}

ChoiceReason WhyChosen(const Candidate& chosen, const Ranking& ranking,
                       const PlannedCluster& cluster, const std::vector<WorkerId>& workers) {
  const PlannedScheme* best = Foreseen(chosen, ranking);
  if (best == nullptr) return {};
  ChoiceReason reason;
  reason.predicted = best->cost.expected;
  reason.copies = chosen.copies > 1;
  if (!reason.copies) return reason;
  if (const PlannedScheme* plain = Foreseen(kPlain, ranking)) {
    reason.than_plain = best->cost.expected / plain->cost.expected - 1;
  }
  reason.feared = MostFeared(cluster, workers);
  return reason;
}

}  // namespace motley
