// SPDX-License-Identifier: Apache-2.0
#include "sim/simulated_scheme.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "coding/code_form.h"
#include "scheduler/policies.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr uint64_t kBatches = 16;        // Of the data.
constexpr double kSliceBytes = 1 << 20;  // As jobs cut vectors, but into no more slices than so
constexpr double kMostSlices = 16;       // many: more would say the same.
constexpr double kNothing = 1e-3;        // Share of the work of who computes nothing.
constexpr double kLongestJob = 1e8;      // Seconds of virtual time; others are not simulated.
constexpr uint64_t kMostSamples = uint64_t{1} << 31;

uint32_t SliceLength(double gradient_bytes) {
  const double bytes = std::max(kSliceBytes, gradient_bytes / kMostSlices);
  return 2 * static_cast<uint32_t>(std::ceil(bytes / (2 * sizeof(float))));
}

SimOptions OptionsOf(const ClusterProfile& cluster, uint32_t samples, const SimulatedJobCode& code,
                     uint32_t steps) {
  SimOptions options;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster = cluster;
  options.cluster.server = ServerRatesOf(cluster);
  // Without a length they cost nothing, as far as anybody can see.
  options.cluster.gradient_bytes = std::max<uint64_t>(cluster.gradient_bytes, sizeof(float));
  options.samples = std::clamp<uint64_t>(kMostSamples / samples, 1, kBatches) * samples;
  options.max_virtual_seconds = std::numeric_limits<double>::infinity();
  options.job.workers = static_cast<uint32_t>(cluster.workers.size());
  options.job.batch = samples;
  options.job.steps = kLearningSteps + steps;
  options.job.slice_length = SliceLength(static_cast<double>(cluster.gradient_bytes));
  options.job.audit_fraction = 0;
  options.job.code = code.code;
  options.job.tolerate = code.tolerate;
  options.job.parts = code.parts;
  options.job.most_workers = code.workers;
  return options;
}

}  // namespace

std::optional<SimulatedJobCode> SimulatedCodeOf(const Candidate& candidate) {
  // The planner cuts the first one otherwise, and says how large the other's error is.
  if (candidate.scheme == "partial-coded" || candidate.scheme == "approximate") return std::nullopt;
  SimulatedJobCode code;
  code.code = candidate.scheme == "proportional" ? "none" : candidate.scheme;
  code.tolerate = candidate.copies - 1;
  code.workers = candidate.workers;
  if (code.code == "short") {  // As scheduler/step_schemes.cc cuts them.
    code.tolerate = candidate.copies > 2 ? 1 : 0;
    code.parts = candidate.copies - code.tolerate;
  }
  const std::vector<JobCode> known = JobCodes();
  const bool runs = std::any_of(known.begin(), known.end(),
                                [&](const JobCode& one) { return one.name == code.code; });
  if (!runs) return std::nullopt;
  return code;
}

Result<SimulatedScheme> SimulateScheme(const ClusterProfile& cluster, uint32_t samples,
                                       const SimulatedJobCode& code, const SimulatedRuns& runs) {
  SimOptions options = OptionsOf(cluster, samples, code, runs.steps);
  SimulatedScheme simulated;
  std::vector<double> seconds;
  for (uint32_t i = 0; i < runs.seeds; ++i) {
    options.seed = options.job.seed = runs.first_seed + i;
    MOTLEY_ASSIGN_OR_RETURN(const SimResult result, Simulate(options, Dataset(), nullptr));
    if (!result.violations.empty()) return Status::Internal(result.violations.front());
    MOTLEY_RETURN_IF_ERROR(result.job.status);
    const std::vector<double>& all = result.job.step_seconds;
    seconds.insert(seconds.end(), all.begin() + kLearningSteps, all.end());
    const double mean = std::accumulate(all.begin() + kLearningSteps, all.end(), 0.0) / runs.steps;
    simulated.step_seconds += mean / runs.seeds;
    simulated.low = i == 0 ? mean : std::min(simulated.low, mean);
    simulated.high = std::max(simulated.high, mean);
    for (const WorkerStats& worker : result.job.scheduler.workers) {
      simulated.workers += worker.share > kNothing ? 1.0 / runs.seeds : 0;
      const double batches = static_cast<double>(worker.samples) / samples;
      simulated.work += batches / static_cast<double>(options.job.steps) / runs.seeds;
    }
  }
  const auto p99 = seconds.begin() + static_cast<ptrdiff_t>(0.99 * (seconds.size() - 1));
  std::nth_element(seconds.begin(), p99, seconds.end());
  simulated.p99_seconds = *p99;
  return simulated;
}

const SimulatedScheme* SimulatedPlan::Seen(const Candidate& candidate) const {
  for (const auto& [of, simulated] : seen) {
    if (of == candidate) return &simulated;
  }
  return nullptr;
}

Result<SimulatedPlan> SimulateRanking(Ranking ranking, const PlannedCluster& planned,
                                      const ClusterProfile& cluster, const SimulatedRuns& runs) {
  SimulatedPlan plan;
  const auto samples = static_cast<uint32_t>(std::lround(planned.samples));
  for (PlannedScheme& scheme : ranking.schemes) {
    const auto code = SimulatedCodeOf(scheme.candidate);
    const double seconds = scheme.cost.step * (kLearningSteps + runs.steps);
    if (!code || !scheme.refused.empty() || !(seconds < kLongestJob)) continue;
    const Result<SimulatedScheme> simulated = SimulateScheme(cluster, samples, *code, runs);
    if (simulated.status().code() == StatusCode::kInvalidArgument) {  // No job takes it.
      scheme.refused = simulated.status().message();
      continue;
    }
    if (!simulated.ok()) continue;  // What the step model says stands, and is marked so.
    CorrectTo(simulated->step_seconds, planned, scheme);
    plan.seen.emplace_back(scheme.candidate, *simulated);
  }
  MOTLEY_ASSIGN_OR_RETURN(plan.ranking, RankTried(std::move(ranking.schemes), ranking.partitions));
  return plan;
}

}  // namespace motley
