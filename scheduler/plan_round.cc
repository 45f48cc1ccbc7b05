// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plan_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scheduler/policies.h"

namespace motley {
namespace {

// Few runs: all candidates have the same draws, so what they differ by shows soon.
constexpr CostRuns kRuns = {2, 2, 1, 1, 1};
// Above, a sample shows what many share; see SampleOf.
constexpr uint32_t kMostWhole = 16;
constexpr uint32_t kMostCopies = 3;
const Candidate kPlain = {"proportional", 1};
// Measured on one core: about 1 microsecond each; twice that where others compute as well.
constexpr double kSecondsPerEvent = 2e-6;
constexpr double kSecondsPerTry = 0.001;  // Building a code and its shares.

constexpr double kOftenSlow = 0.01;  // Of a worker's steps: worth to be named.
constexpr double kAsMuch = 0.02;     // Of a step: not worth to be told apart.

bool HasRoom(const JobScheme& scheme, const Candidate& candidate, const RoundRequest& request) {
  if (request.most_sums == 0) return true;
  // Any worker's whole vector may wait, or one accumulator for each that may be missing.
  const uint32_t sums =
      scheme.whole_vectors ? static_cast<uint32_t>(request.workers.size()) : candidate.copies;
  return sums <= request.most_sums;
}

// "worker 3, slow in 4 % of its steps"
std::string MostFeared(const RoundRequest& request) {
  size_t worst = 0;
  const auto& workers = request.cluster.workers;
  for (size_t w = 0; w < workers.size(); ++w) {
    if (workers[w].slow_probability > workers[worst].slow_probability) worst = w;
  }
  const double often = workers[worst].slow_probability;
  if (often < kOftenSlow) return "stragglers and losses";
  return fmt::format("worker {}, slow in {:.0f} % of its steps", request.workers[worst],
                     100 * often);
}

}  // namespace

PlanRound::PlanRound(RoundRequest request) : request_(std::move(request)) {
  const uint32_t most = std::max(kMostCopies, request_.tolerate + 1);
  if (request_.tolerate > 0) plain_ = TryScheme(kPlain, request_.cluster, Options());
  std::vector<Candidate> all = CandidatesFor(request_.workers.size(), most);
  const std::vector<Candidate> fewer = FewerWorkers(request_.cluster);
  all.insert(all.end(), fewer.begin(), fewer.end());
  const std::optional<Candidate>& running = request_.running;
  const bool known = running && std::find(all.begin(), all.end(), *running) != all.end();
  if (running && !known && running->workers > 0 && running->workers < request_.workers.size()) {
    all.push_back(*running);
  }
  for (const Candidate& candidate : all) {
    const JobScheme* scheme = JobSchemeOf(candidate.scheme);
    if (scheme == nullptr || scheme->Tolerates(candidate.copies) < request_.tolerate) continue;
    const auto& without = request_.without;
    if (std::find(without.begin(), without.end(), candidate) != without.end()) continue;
    if (HasRoom(*scheme, candidate, request_)) candidates_.push_back(candidate);
  }
}

PlanOptions PlanRound::Options() const {
  PlanOptions options;
  options.partitions = request_.partitions;
  options.runs = kRuns;
  options.most_whole = kMostWhole;
  return options;
}

double PlanRound::TryNext() {
  tried_.push_back(TryScheme(candidates_[next_++], request_.cluster, Options()));
  if (tried_.back().candidate == kPlain) plain_ = tried_.back();
  return kSecondsPerTry + kSecondsPerEvent * static_cast<double>(tried_.back().cost.events);
}

Result<Ranking> PlanRound::Rank() const {
  if (tried_.empty()) return Status::InvalidArgument("no scheme serves");
  return RankTried(tried_, request_.partitions);
}

Candidate PlanRound::Best(const Ranking& ranking) const {
  const PlannedScheme* best = &ranking.schemes.front();
  const double enough = best->Total() + std::max(kAsMuch * best->Total(), kLeastGainSeconds);
  for (const PlannedScheme& planned : ranking.schemes) {
    const bool serves = planned.refused.empty() && planned.exact && planned.Total() <= enough;
    if (serves && planned.candidate.copies < best->candidate.copies) best = &planned;
  }
  return best->candidate;
}

const PlannedScheme* Foreseen(const Candidate& candidate, const Ranking& ranking) {
  const auto at = std::find_if(ranking.schemes.begin(), ranking.schemes.end(),
                               [&](const PlannedScheme& p) { return p.candidate == candidate; });
  return at == ranking.schemes.end() || !at->refused.empty() ? nullptr : &*at;
}

std::string NameOfChoice(const Candidate& candidate) {
  const JobScheme* scheme = JobSchemeOf(candidate.scheme);
  const std::string code = scheme != nullptr ? scheme->code : candidate.scheme;
  std::string name =
      candidate.copies == 1 ? code : fmt::format("{}, {} copies", code, candidate.copies);
  const uint32_t parts = scheme != nullptr && scheme->parts ? scheme->Parts(candidate.copies) : 1;
  if (parts > 1) name += fmt::format(", answers 1/{} as long", parts);
  if (candidate.workers > 0) {
    name += fmt::format(", {} worker{}", candidate.workers, candidate.workers == 1 ? "" : "s");
  }
  return name;
}

std::string Milliseconds(double seconds) {
  const double ms = seconds * 1e3;
  return fmt::format("{:.{}f} ms", ms, ms >= 10 ? 0 : ms >= 1 ? 1 : 2);
}

std::string WhyChosen(const Candidate& chosen, const Ranking& ranking, const PlanRound& round) {
  const PlannedScheme* best = Foreseen(chosen, ranking);
  if (best == nullptr) return "copies would save nothing worth their price";
  std::string text = fmt::format("predicted {} a step", Milliseconds(best->cost.expected));
  if (chosen.copies == 1) return text + "; copies would save nothing worth their price";
  if (round.plain() && round.plain()->refused.empty()) {
    const double part = best->cost.expected / round.plain()->cost.expected - 1;
    text += std::abs(part) < kAsMuch
                ? std::string(", as much as without copies")
                : fmt::format(", {:.0f} % {} than without copies", 100 * std::abs(part),
                              part < 0 ? "less" : "more");
  }
  return text + "; insures against " + MostFeared(round.request());
}

}  // namespace motley
