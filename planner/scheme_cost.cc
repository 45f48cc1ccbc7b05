// SPDX-License-Identifier: Apache-2.0
#include "planner/scheme_cost.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

namespace motley {
namespace {

// Rarer kinds of steps are left out.
constexpr double kTooRare = 1e-7;
// With many workers, whose steps take long to try, steps with just one straggler are left out if
// rarer than this.
constexpr size_t kMany = 1024;
constexpr double kTooRareOfMany = 1e-2;
// The model's own expectation counts as much as this many observed rounds.
constexpr double kModelRounds = 4;
// Draws until at least two workers are slow are repeated this often before two are chosen.
constexpr int kTries = 20;
// Bytes of a vector that sockets hold. They are on their way as soon as they are sent.
constexpr double kSocketBytes = 4 << 20;
constexpr double kLeastSpeed = 0.3;  // Part of the usual speed; jitter does not reduce it further.
// Standard deviations so large that no digit of a mean shows them.
constexpr double kNeverSeen = 9;
constexpr double kEndless = std::numeric_limits<double>::infinity();

enum class Kind : uint32_t { kUndisturbed, kOneSlow, kSeveralSlow, kLoss };

using Weight = std::function<double(const PlannedWorker&)>;

// The odds of a probability.
double Odds(double probability) { return probability / std::max(1 - probability, 1e-9); }

class Costing {
 public:
  Costing(const StepScheme& scheme, const PlannedCluster& truth, const CostRuns& runs)
      : scheme_(scheme), truth_(truth), runs_(runs), partitions_(scheme.setting->holders.size()) {
    setting_.workers = StepWorkersOf(truth, static_cast<uint32_t>(partitions_));
    setting_.work = scheme.setting->work;
    setting_.data_seconds = truth.data_seconds;
    for (size_t w = 0; w < setting_.workers.size(); ++w) {
      setting_.workers[w].live = scheme.setting->workers[w].live;
    }
    for (const PlannedWorker& worker : truth.workers) {
      none_slow_ *= 1 - worker.slow_probability;
      none_lost_ *= 1 - worker.loss_probability;
      odds_ += Odds(worker.slow_probability);
    }
  }

  SchemeCost Run();

 private:
  struct Mean {
    double seconds = 0;  // Mean of the steps that ended; infinite if none did.
    double ended = 1;    // Part of the steps that ended.
  };
  Mean Measure(Kind kind, uint32_t count);
  std::vector<ModelWorker> Draw(Kind kind, uint32_t index, uint32_t count, Random& random) const;
  size_t Pick(double at, const Weight& weight) const;
  void DrawSeveral(Random& random, std::vector<ModelWorker>& draw) const;
  double StartOver() const;
  void Replay();

  const StepScheme& scheme_;
  const PlannedCluster& truth_;
  const CostRuns& runs_;
  const size_t partitions_;
  StepSetting setting_;  // The true times; only the policy needs the holders.
  double none_slow_ = 1, none_lost_ = 1, odds_ = 0;
  std::vector<bool> late_;  // Workers that were late in the previous undisturbed step.
  SchemeCost cost_;
};

// The worker at this part (0..1) of all weights.
size_t Costing::Pick(double at, const Weight& weight) const {
  double total = 0;
  for (const PlannedWorker& worker : truth_.workers) total += weight(worker);
  double left = at * total;
  for (size_t w = 0; w < truth_.workers.size(); ++w) {
    left -= weight(truth_.workers[w]);
    if (left < 0) return w;
  }
  return truth_.workers.size() - 1;
}

void Costing::DrawSeveral(Random& random, std::vector<ModelWorker>& draw) const {
  std::vector<size_t> slow;
  for (int i = 0; i < kTries && slow.size() < 2; ++i) {
    slow.clear();
    for (size_t w = 0; w < draw.size(); ++w) {
      if (random.Chance(truth_.workers[w].slow_probability)) slow.push_back(w);
    }
  }
  while (slow.size() < 2) {
    const PlannedWorker* first = slow.empty() ? nullptr : &truth_.workers[slow.front()];
    const size_t w = Pick(random.NextDouble(), [&](const PlannedWorker& p) {
      return &p == first ? 0 : Odds(p.slow_probability);
    });
    if (&truth_.workers[w] == first) break;  // No other worker is ever slow.
    slow.push_back(w);
  }
  for (const size_t w : slow) draw[w].slowdown *= truth_.workers[w].slow_factor;
}

std::vector<ModelWorker> Costing::Draw(Kind kind, uint32_t index, uint32_t count,
                                       Random& random) const {
  std::vector<ModelWorker> draw = DrawUsual(truth_, random);
  // Spreads the runs evenly over the workers that may be affected.
  const double at = (index + 0.5) / count;
  if (kind == Kind::kOneSlow) {
    const size_t w = Pick(at, [](const PlannedWorker& p) { return Odds(p.slow_probability); });
    draw[w].slowdown *= truth_.workers[w].slow_factor;
  } else if (kind == Kind::kSeveralSlow) {
    DrawSeveral(random, draw);
  } else if (kind == Kind::kLoss) {
    const size_t w = Pick(at, [](const PlannedWorker& p) { return p.loss_probability; });
    draw[w].dies_at = random.NextDouble() * cost_.undisturbed;
  }
  return draw;
}

Costing::Mean Costing::Measure(Kind kind, uint32_t count) {
  Mean mean;
  uint32_t ended = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Random random(runs_.seed, Stream::kSimulation, static_cast<uint64_t>(kind), i);
    StepModelOptions options;
    options.truth = Draw(kind, i, count, random);
    options.notice_seconds = truth_.notice_seconds;
    options.seed = runs_.seed;
    options.late = late_;
    options.late_shares = 1 - SocketPart(truth_);
    const auto policy = scheme_.policy();
    const StepOutcome outcome = RunStepModel(setting_, *policy, options);
    cost_.events += outcome.events;
    if (kind == Kind::kUndisturbed) late_ = outcome.late;
    if (!std::isfinite(outcome.seconds)) continue;
    ++ended;
    mean.seconds += outcome.seconds;
    if (kind == Kind::kUndisturbed && i == 0) {
      cost_.work = outcome.partitions / static_cast<double>(std::max<size_t>(partitions_, 1));
      cost_.workers = outcome.workers;
      cost_.link = outcome.link_seconds / outcome.seconds;
    }
  }
  mean.ended = count > 0 ? static_cast<double>(ended) / count : 1;
  if (count > 0) mean.seconds = ended > 0 ? mean.seconds / ended : kEndless;
  return mean;
}

double Costing::StartOver() const {
  const double part = 1.0 / static_cast<double>(truth_.workers.size());
  return truth_.notice_seconds + truth_.data_seconds * part + 1.5 * cost_.undisturbed;
}

// Replays each observed round under this scheme.
void Costing::Replay() {
  const StepSetting usual = setting_;
  const double samples = truth_.samples / static_cast<double>(partitions_);
  double sum = 0;
  for (const PlannedRound& round : truth_.rounds) {
    setting_ = usual;
    for (size_t w = 0; w < round.workers.size(); ++w) {
      const PlannedRound::Worker& seen = round.workers[w];
      const bool silent = seen.seconds_per_sample == 0;
      // The time without a sign includes that of the parameters.
      const double sent = silent ? setting_.workers[w].start_seconds : 0;
      setting_.workers[w].data_seconds += std::max(0.0, seen.begins_late - sent);
      if (silent) continue;
      setting_.workers[w].seconds_per_partition = seen.seconds_per_sample * samples;
    }
    const auto policy = scheme_.policy();
    StepModelOptions options;
    options.late = late_;
    options.late_shares = 1 - SocketPart(truth_);
    const StepOutcome outcome = RunStepModel(setting_, *policy, options);
    cost_.events += outcome.events;
    cost_.rounds.push_back(outcome.seconds);
    sum += outcome.seconds;
  }
  setting_ = usual;
  const auto n = static_cast<double>(truth_.rounds.size());
  cost_.expected = (sum + kModelRounds * cost_.expected) / (n + kModelRounds);
}

SchemeCost Costing::Run() {
  // A worker that is late in one step is late in the next, too, and out of the way of others. The
  // first step is therefore not representative.
  if (runs_.undisturbed > 1) Measure(Kind::kUndisturbed, 1);
  const Mean none = Measure(Kind::kUndisturbed, runs_.undisturbed);
  if (none.ended < 1) {
    cost_.undisturbed = cost_.expected = kEndless;
    return cost_;
  }
  cost_.undisturbed = cost_.one_slow = cost_.loss = none.seconds;
  const double one = none_slow_ * odds_;
  const double several = std::max(0.0, 1 - none_slow_ - one);
  double step = none_slow_ * none.seconds;
  const double rare = truth_.workers.size() > kMany ? kTooRareOfMany : kTooRare;
  if (one > rare) cost_.one_slow = Measure(Kind::kOneSlow, runs_.one_slow).seconds;
  step += one * cost_.one_slow;
  const bool any = several > kTooRare && truth_.workers.size() > 1;
  step += several * (any ? Measure(Kind::kSeveralSlow, runs_.several_slow).seconds : none.seconds);
  cost_.step = step;
  const double lost = 1 - none_lost_;
  if (lost > kTooRare) {
    const Mean loss = Measure(Kind::kLoss, runs_.loss);
    cost_.loss_survived = loss.ended;
    cost_.loss = (1 - loss.ended) * StartOver();
    if (loss.ended > 0) cost_.loss += loss.ended * loss.seconds;
  }
  cost_.expected = (1 - lost) * step + lost * cost_.loss;
  if (!truth_.rounds.empty()) Replay();
  return cost_;
}

// The mean of max(kLeastSpeed, 1 + jitter * N(0, 1)).
double MeanSpeed(double jitter) {
  // Distance from the usual speed in standard deviations.
  const double least = (1 - kLeastSpeed) / jitter;
  if (least > kNeverSeen) return 1;
  const double density = std::exp(-least * least / 2) / std::sqrt(2 * std::numbers::pi);
  const double below = std::erfc(least / std::numbers::sqrt2) / 2;
  return 1 + jitter * density - (1 - kLeastSpeed) * below;
}

}  // namespace

SchemeCost CostOf(const StepScheme& scheme, const PlannedCluster& truth, const CostRuns& runs) {
  return Costing(scheme, truth, runs).Run();
}

// Speeds have mean 1, whatever the jitter. Otherwise the model would promise step times below the
// true work for schemes that move work to fast workers.
std::vector<ModelWorker> DrawUsual(const PlannedCluster& cluster, Random& random) {
  std::vector<ModelWorker> draw(cluster.workers.size());
  for (size_t w = 0; w < draw.size(); ++w) {
    const double jitter = std::hypot(cluster.workers[w].jitter, cluster.doubt);
    if (jitter == 0) continue;
    const double speed = std::max(kLeastSpeed, 1 + jitter * random.Normal());
    draw[w].slowdown = MeanSpeed(jitter) / speed;
  }
  return draw;
}

double SocketPart(const PlannedCluster& cluster) {
  return std::min(1.0, kSocketBytes / std::max(cluster.gradient_bytes, 1.0));
}

}  // namespace motley
