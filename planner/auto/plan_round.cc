// SPDX-License-Identifier: Apache-2.0
#include "planner/auto/plan_round.h"

#include <algorithm>
#include <utility>

#include "coding/schemes.h"

namespace motley {
namespace {

// A few runs are enough: all candidates have the same draws, so differences show soon.
constexpr CostRuns kRuns = {2, 2, 1, 1, 1};
// With more workers, a sample stands for them; see SampleOf.
constexpr uint32_t kMostWhole = 16;
constexpr uint32_t kMostCopies = 3;
// An event takes about 1 microsecond on one core, and twice that if others compute as well
// (measured).
constexpr double kSecondsPerEvent = 2e-6;
constexpr double kSecondsPerTry = 0.001;  // Time to build a code and its shares.

bool HasRoom(const Scheme& scheme, const Candidate& candidate, const RoundRequest& request) {
  if (request.most_sums == 0) return true;
  // The server may have to hold a whole vector of each worker, or one accumulator per copy.
  const uint32_t sums =
      scheme.leases() ? static_cast<uint32_t>(request.workers.size()) : candidate.copies;
  return sums <= request.most_sums;
}

}  // namespace

PlanRound::PlanRound(RoundRequest request) : request_(std::move(request)) {
  const uint32_t most = std::max(kMostCopies, request_.tolerate + 1);
  std::vector<Candidate> all = CandidatesFor(request_.workers.size(), most);
  const std::vector<Candidate> fewer = FewerWorkers(request_.cluster);
  all.insert(all.end(), fewer.begin(), fewer.end());
  const std::optional<Candidate>& running = request_.running;
  const bool known = running && std::find(all.begin(), all.end(), *running) != all.end();
  if (running && !known && running->workers > 0 && running->workers < request_.workers.size()) {
    all.push_back(*running);
  }
  for (const Candidate& candidate : all) {
    const Scheme& scheme = SchemeNamed(candidate.scheme);
    if (!scheme.for_auto || scheme.Tolerates(candidate.copies) < request_.tolerate) continue;
    const auto& without = request_.without;
    if (std::find(without.begin(), without.end(), candidate) != without.end()) continue;
    if (HasRoom(scheme, candidate, request_)) candidates_.push_back(candidate);
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
  return kSecondsPerTry + kSecondsPerEvent * static_cast<double>(tried_.back().cost.events);
}

Result<Ranking> PlanRound::Rank() const {
  if (tried_.empty()) return Status::InvalidArgument("no scheme serves");
  return RankTried(tried_, request_.partitions);
}

}  // namespace motley
