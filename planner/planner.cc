// SPDX-License-Identifier: Apache-2.0
#include "planner/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "coding/schemes.h"
#include "planner/learned_shares.h"
#include "planner/plan_reason.h"
#include "planner/planned_reduction.h"
#include "scheduler/step/pieces.h"

namespace motley {
namespace {

constexpr double kFewerPart = 0.8;  // Fewer workers may be worth it if their step takes less than
                                    // this part of a step with all workers.
// With more workers codes are only drafted, and the effect of learning is not predicted.
constexpr size_t kMany = 512;
// Codes may group partitions. With more than kFewPartitions, they are planned with kCodedPieces per
// worker.
constexpr uint32_t kCodedPieces = 4;
constexpr uint32_t kFewPartitions = 4096;

// Many workers average out by themselves what few workers need several steps for.
CostRuns RunsOfMany(const CostRuns& runs) {
  CostRuns fewer;
  fewer.undisturbed = std::min(runs.undisturbed, 1U);
  fewer.one_slow = std::min(runs.one_slow, 1U);
  fewer.several_slow = std::min(runs.several_slow, 1U);
  fewer.loss = std::min(runs.loss, 1U);
  fewer.seed = runs.seed;
  return fewer;
}

// Empty if every piece of work fits into its worker's memory; otherwise a message.
std::string NoRoom(const StepScheme& scheme, const PlannedCluster& cluster,
                   const Candidate& candidate, bool in_pieces) {
  const double samples = cluster.samples / static_cast<double>(scheme.setting->holders.size());
  std::vector<double> held(cluster.workers.size(), 0);
  for (const auto& holders : scheme.setting->holders) {
    for (const WorkerId w : holders) held[w] += samples;
  }
  for (size_t w = 0; w < held.size(); ++w) {
    const auto total = static_cast<uint64_t>(in_pieces ? held[w] / candidate.copies : held[w]);
    const uint64_t piece =
        std::min(total, in_pieces ? LeasePieceSamples(total) : RowPieceSamples(total));
    const double most = cluster.workers[w].curve.most_samples;
    if (static_cast<double>(piece) <= most) continue;
    return fmt::format(
        "worker {} would compute {} samples at a time and has memory for {:.0f}: use a smaller "
        "batch, or fewer copies",
        w, piece, most);
  }
  return "";
}

// The speed of the fastest workers as a part of the speed of all.
double PartOfFastest(const PlannedCluster& cluster, uint32_t workers) {
  const std::vector<bool> among = FastestWorkers(cluster, workers);
  double part = 0, all = 0;
  for (size_t w = 0; w < among.size(); ++w) {
    const double speed = 1 / cluster.workers[w].curve.seconds_per_sample;
    all += speed;
    part += among[w] ? speed : 0;
  }
  return part / all;
}

// The rows of a job follow the waits that it learns. For many workers that takes too long to
// predict.
Result<StepScheme> SchemeAsJob(const Scheme& kind, const SchemeRequest& request,
                               const PlannedCluster& cluster, uint64_t seed, uint64_t& events) {
  if (kind.in_pieces() || !kind.exact || request.workers.size() > kMany) {
    return MakeStepScheme(kind.name, request);
  }
  MOTLEY_RETURN_IF_ERROR(CheckStepRequest(kind, request));
  MOTLEY_ASSIGN_OR_RETURN(LearnedScheme learned, LearnShares(kind.name, request, cluster, seed));
  events = learned.events;
  return std::move(learned.scheme);
}

// Step times with only the fastest workers, by their number, which grows up to all.
std::vector<std::pair<uint32_t, double>> SecondsOfFew(const PlannedCluster& cluster) {
  std::vector<const PlannedWorker*> order;
  for (const PlannedWorker& worker : cluster.workers) order.push_back(&worker);
  std::stable_sort(order.begin(), order.end(), [](const PlannedWorker* a, const PlannedWorker* b) {
    return a->curve.seconds_per_sample < b->curve.seconds_per_sample;
  });
  std::vector<std::pair<uint32_t, double>> seconds;
  double rate = 0, link = 0, own = 0;
  for (const PlannedWorker* worker : order) {
    rate += 1 / worker->curve.seconds_per_sample;
    link += worker->message_seconds;
    own = std::max(own, worker->message_seconds + worker->send_seconds);
    const auto few = static_cast<uint32_t>(seconds.size() + 1);
    seconds.emplace_back(few, 2 * std::max(own, link) + cluster.samples / rate);
  }
  return seconds;
}

// The same where the vector may be summed elsewhere. Each number is a quarter larger than the one
// before, because every one needs shares of its own.
std::vector<std::pair<uint32_t, double>> SecondsOfFewPlaced(const PlannedCluster& cluster) {
  const auto n = static_cast<uint32_t>(cluster.workers.size());
  std::vector<std::pair<uint32_t, double>> seconds;
  for (uint32_t few = 1; few <= n; few = few < n ? std::min(n, few + 1 + few / 4) : n + 1) {
    const std::vector<bool> among = FastestWorkers(cluster, few);
    const Result<double> exchange = ExchangeAmong(cluster, among);
    double rate = 0;
    for (uint32_t w = 0; w < n; ++w) {
      if (among[w]) rate += 1 / cluster.workers[w].curve.seconds_per_sample;
    }
    seconds.emplace_back(few, (exchange.ok() ? *exchange : 0) + cluster.samples / rate);
  }
  return seconds;
}

int Rank(const PlannedScheme& planned) {
  if (!planned.refused.empty()) return 2;
  return planned.exact ? 0 : 1;
}

}  // namespace

std::vector<Candidate> CandidatesFor(size_t workers, uint32_t most_copies) {
  std::vector<Candidate> candidates;
  for (const Scheme& kind : Schemes()) {
    if (kind.least_copies == 0 || workers > kind.most_planned_workers) continue;
    const uint32_t most = kind.keeps_copies ? most_copies : 1;
    for (uint32_t copies = kind.least_copies; copies <= std::min<size_t>(most, workers); ++copies) {
      candidates.push_back({kind.name, copies});
    }
  }
  return candidates;
}

std::vector<Candidate> FewerWorkers(const PlannedCluster& cluster) {
  const auto n = static_cast<uint32_t>(cluster.workers.size());
  if (n == 0) return {};
  const PlannedCluster free = WithFewer(cluster, n);
  const std::vector<std::pair<uint32_t, double>> seconds =
      free.reduction || free.owned ? SecondsOfFewPlaced(free) : SecondsOfFew(free);
  const auto least =
      std::min_element(seconds.begin(), seconds.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (least->second > kFewerPart * seconds.back().second) return {};
  const uint32_t few = least->first;
  std::vector<Candidate> candidates = {{"none", 1, few}};
  if (2 * few < n) candidates.push_back({"repetition", 2, 2 * few});
  return candidates;
}

std::string ShortNameOf(const Candidate& candidate) {
  const std::string name = fmt::format("{} {}", candidate.scheme, candidate.copies);
  return candidate.workers == 0 ? name : fmt::format("{}, {} workers", name, candidate.workers);
}

PlannedScheme TryScheme(const Candidate& candidate, const PlannedCluster& present,
                        const PlanOptions& options) {
  PlannedScheme planned;
  planned.candidate = candidate;
  const Scheme& kind = SchemeNamed(candidate.scheme);
  planned.exact = kind.exact;
  PlannedCluster whole = WithFewer(present, candidate.workers);
  std::vector<bool> among = FastestWorkers(whole, candidate.workers);
  if (whole.reduction || whole.owned) {
    Result<PlannedCluster> placed = WithReduction(whole, among, kind.Parts(candidate.copies));
    if (!placed.ok()) {
      planned.refused = placed.status().message();
      return planned;
    }
    whole = *std::move(placed);
  }
  const bool sampled = whole.workers.size() > options.most_whole && kind.leases();
  const PlannedCluster sample = sampled ? SampleOf(whole, options.most_whole) : PlannedCluster();
  const PlannedCluster& cluster = sampled ? sample : whole;
  SchemeRequest request;
  request.copies = candidate.copies;
  request.partitions = options.partitions;
  if (!kind.in_pieces()) {
    const auto enough = kCodedPieces * static_cast<uint32_t>(whole.workers.size());
    request.partitions = std::min(request.partitions, std::max(enough, kFewPartitions));
  }
  if (sampled) {
    request.partitions = static_cast<uint32_t>(
        std::ceil(1.0 * options.partitions * options.most_whole / whole.workers.size()));
  }
  request.workers = StepWorkersOf(cluster, request.partitions);
  if (sampled)
    among.assign(options.most_whole, true);  // Leases have no candidates of fewer workers.
  for (size_t w = 0; w < among.size(); ++w) request.workers[w].live = among[w];
  request.by_speed = true;
  request.samples = cluster.samples;
  request.draft = request.workers.size() > kMany;
  uint64_t events = 0;
  const Result<StepScheme> scheme = SchemeAsJob(kind, request, cluster, options.runs.seed, events);
  if (!scheme.ok()) {
    planned.refused = scheme.status().message();
    return planned;
  }
  planned.refused = NoRoom(*scheme, cluster, candidate, kind.in_pieces());
  if (!planned.refused.empty()) return planned;
  const bool many = whole.workers.size() > options.most_whole;
  planned.cost = CostOf(*scheme, cluster, many ? RunsOfMany(options.runs) : options.runs);
  planned.cost.events += events;
  if (!std::isfinite(planned.cost.expected)) planned.refused = "steps would not end";
  const double others = 1 - PartOfFastest(whole, candidate.workers);
  planned.placing_seconds = whole.data_seconds * (candidate.copies - 1 + others) /
                            static_cast<double>(std::max<uint64_t>(whole.remaining_steps, 1));
  return planned;
}

Result<Ranking> RankSchemes(const PlannedCluster& cluster, const PlanOptions& options) {
  if (cluster.workers.empty()) return Status::InvalidArgument("a plan needs at least one worker");
  PlanOptions chosen = options;
  if (chosen.partitions == 0) chosen.partitions = PartitionsFor(cluster);
  std::vector<PlannedScheme> tried;
  for (const Candidate& candidate : CandidatesFor(cluster.workers.size(), options.most_copies)) {
    tried.push_back(TryScheme(candidate, cluster, chosen));
  }
  for (const Candidate& candidate : FewerWorkers(cluster)) {
    tried.push_back(TryScheme(candidate, cluster, chosen));
  }
  return RankTried(std::move(tried), chosen.partitions);
}

Result<Ranking> RankTried(std::vector<PlannedScheme> tried, uint32_t partitions) {
  MOTLEY_ASSERT(!tried.empty());
  Ranking ranking;
  ranking.partitions = partitions;
  ranking.schemes = std::move(tried);
  for (const PlannedScheme& planned : ranking.schemes) ranking.events += planned.cost.events;
  std::stable_sort(ranking.schemes.begin(), ranking.schemes.end(),
                   [](const PlannedScheme& a, const PlannedScheme& b) {
                     if (Rank(a) != Rank(b)) return Rank(a) < Rank(b);
                     return Rank(a) < 2 && a.Total() < b.Total();
                   });
  if (Rank(ranking.schemes.front()) != 0) {
    return Status::InvalidArgument(
        fmt::format("no exact scheme serves this cluster: {}", ranking.schemes.front().refused));
  }
  double least = ranking.schemes.front().cost.undisturbed;
  for (const PlannedScheme& planned : ranking.schemes) {
    if (Rank(planned) == 0) least = std::min(least, planned.cost.undisturbed);
  }
  for (PlannedScheme& planned : ranking.schemes) {
    if (planned.refused.empty()) planned.premium = planned.cost.undisturbed / least - 1;
  }
  for (PlannedScheme& planned : ranking.schemes) planned.why = ReasonFor(planned, ranking);
  return ranking;
}

void CorrectTo(double step_seconds, const PlannedCluster& cluster, PlannedScheme& planned) {
  SchemeCost& cost = planned.cost;
  double none_lost = 1;
  for (const PlannedWorker& worker : cluster.workers) none_lost *= 1 - worker.loss_probability;
  const double factor = step_seconds / cost.step;
  cost.loss = std::max(cost.loss + step_seconds - cost.step, step_seconds);
  cost.expected = none_lost * step_seconds + (1 - none_lost) * cost.loss;
  cost.undisturbed *= factor;
  cost.one_slow *= factor;
  cost.step = step_seconds;
}

double SwitchSeconds(const Candidate& from, const Candidate& to, const PlannedCluster& cluster) {
  if (from == to) return 0;
  const bool nested = SchemeNamed(from.scheme).nests() && SchemeNamed(to.scheme).nests();
  double kept = nested ? std::min(from.copies, to.copies) : 0;
  // With fewer workers, these hold, or give up, the data of the others.
  if (from.workers != to.workers) {
    const double a = PartOfFastest(cluster, from.workers), b = PartOfFastest(cluster, to.workers);
    kept *= std::min(a, b) / std::max(a, b);
  }
  return cluster.data_seconds * (to.copies - kept);
}

}  // namespace motley
