// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/planner_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "fmt/core.h"
#include "scheduler/policies.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr uint32_t kFeatures = 2;  // Of samples, whose data travel as they are.
// Vectors are cut as jobs do, but into no more slices than say how they share the server's link.
constexpr double kSliceBytes = 1 << 20, kLeastSlices = 4, kMostSlices = 32;
constexpr double kSocketBytes = 4 << 20;
constexpr double kLong = 1e7;  // Virtual seconds.
// At first a scheme runs so many times fewer steps, and again if it was within this of the best.
constexpr uint32_t kFewer = 4;
constexpr double kWithin = 1.33;

ClusterProfile ProfileOf(const PlannerCase& made) {
  ClusterProfile cluster;
  cluster.name = "grid";
  cluster.gradient_bytes = static_cast<uint64_t>(made.gradient_bytes);
  for (const PlannedWorker& planned : made.truth.workers) {
    WorkerProfile worker;
    worker.device.samples_per_second = 1 / planned.curve.seconds_per_sample;
    worker.device.overhead_seconds = planned.curve.overhead_seconds;
    worker.device.knee_samples = planned.curve.knee_samples;
    worker.device.jitter = planned.jitter;
    worker.link.latency_seconds = planned.latency_seconds;
    worker.link.bytes_per_second =
        made.gradient_bytes / (planned.message_seconds + planned.send_seconds);
    cluster.workers.push_back(worker);
  }
  return cluster;
}

// Who is slow, or dies, in which step. A slow one is as it was from the next step on; a dead one
// comes back within a second.
std::vector<Fault> FaultsOf(const PlannerCase& made, uint64_t steps, uint64_t seed) {
  std::vector<Fault> faults;
  Random random(seed, Stream::kSimulation, 1);
  std::vector<double> slowed(made.truth.workers.size(), 1);
  for (StepId step = 1; step < steps; ++step) {
    for (WorkerId w = 0; w < slowed.size(); ++w) {
      const PlannedWorker& worker = made.truth.workers[w];
      const bool slow = random.Chance(worker.slow_probability);
      const bool dies = random.Chance(worker.loss_probability);
      const double before = std::exchange(slowed[w], slow && !dies ? worker.slow_factor : 1);
      if (before != slowed[w]) {
        faults.push_back(
            {.kind = Fault::Kind::kSlow, .worker = w, .step = step, .factor = slowed[w] / before});
      }
      if (dies) faults.push_back({.kind = Fault::Kind::kKill, .worker = w, .step = step});
    }
  }
  return faults;
}

SimOptions OptionsOf(const PlannerCase& made, const SimulatedSteps& steps, uint64_t seed) {
  SimOptions options;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster = ProfileOf(made);
  options.seed = seed;
  // Buffers let long links be full, as those with which a profile's bandwidth was measured.
  const LinkProfile& link = options.cluster.workers.front().link;
  options.socket_buffer_bytes =
      static_cast<size_t>(std::max(kSocketBytes, 2 * link.latency_seconds * link.bytes_per_second));
  options.server_bytes_per_second = made.gradient_bytes / made.message_seconds;
  options.max_virtual_seconds = kLong;
  options.random_faults.restart = 1;
  options.random_faults.until_seconds = kLong;
  options.job.workers = static_cast<uint32_t>(made.truth.workers.size());
  options.job.batch = static_cast<uint32_t>(made.truth.samples);
  options.job.steps = steps.skipped + steps.counted;
  options.job.audit_fraction = 0;
  const double slices = std::clamp(made.gradient_bytes / kSliceBytes, kLeastSlices, kMostSlices);
  const auto pairs = static_cast<uint32_t>(made.gradient_bytes / slices / (2 * sizeof(float)));
  options.job.slice_length = 2 * pairs + 2;
  options.faults = FaultsOf(made, options.job.steps, seed);
  return options;
}

std::string NameOf(const Candidate& candidate) {
  return fmt::format("{} {}", candidate.scheme, candidate.copies);
}

double PerStep(double seconds, const PlannerCase& made) {
  return seconds / static_cast<double>(made.truth.remaining_steps);
}

}  // namespace

std::optional<std::string> JobCodeOf(const Candidate& candidate) {
  const std::string wanted = candidate.scheme == "proportional" ? "none" : candidate.scheme;
  for (const JobCode& code : JobCodes()) {
    if (code.name == wanted) return code.name;
  }
  return std::nullopt;
}

Result<double> SimulatedSeconds(const PlannerCase& made, const Candidate& candidate,
                                const SimulatedSteps& steps, uint64_t seed) {
  const std::optional<std::string> code = JobCodeOf(candidate);
  if (!code) return Status::NotFound(fmt::format("no job runs {}", candidate.scheme));
  SimOptions options = OptionsOf(made, steps, seed);
  options.job.code = *code;
  options.job.tolerate = candidate.copies - 1;
  if (*code == "short") {  // As the planner cuts them (scheduler/step_schemes.cc).
    options.job.tolerate = candidate.copies > 2 ? 1 : 0;
    options.job.parts = candidate.copies - options.job.tolerate;
  }
  const Dataset data = MakeSyntheticDataset(options.job.batch, kFeatures, 0, 1);
  MOTLEY_ASSIGN_OR_RETURN(const SimResult result, Simulate(options, data, nullptr));
  if (!result.violations.empty()) return Status::Internal(result.violations.front());
  MOTLEY_RETURN_IF_ERROR(result.job.status);
  const auto& seconds = result.job.step_seconds;
  return std::accumulate(seconds.begin() + steps.skipped, seconds.end(), 0.0) / steps.counted;
}

Result<JudgedCase> JudgePlanner(const PlannerCase& made, const SimulatedSteps& steps,
                                uint64_t seed) {
  PlanOptions options;
  MOTLEY_ASSIGN_OR_RETURN(options.partitions,
                          PartitionCount(static_cast<uint64_t>(made.truth.samples),
                                         static_cast<uint32_t>(made.truth.workers.size())));
  MOTLEY_ASSIGN_OR_RETURN(const Ranking ranking, RankSchemes(made.profile, options));
  struct Tried {
    Candidate candidate;
    double seconds = 0;  // Per step.
  };
  std::vector<Tried> tried;
  double least = std::numeric_limits<double>::infinity();
  for (const PlannedScheme& planned : ranking.schemes) {
    if (!planned.exact || !planned.refused.empty() || !JobCodeOf(planned.candidate)) continue;
    MOTLEY_ASSIGN_OR_RETURN(
        const double seconds,
        SimulatedSeconds(made, planned.candidate, {steps.skipped, steps.counted / kFewer}, seed));
    tried.push_back({planned.candidate, seconds});
    least = std::min(least, seconds);
  }
  // As --code auto: of the schemes that it may choose, the one that is planned to be fastest.
  const auto choice = std::find_if(tried.begin(), tried.end(), [](const Tried& each) {
    return JobSchemeOf(each.candidate.scheme) != nullptr;
  });
  if (choice == tried.end()) return Status::NotFound("no job can run on this cluster");
  JudgedCase judged;
  judged.best_seconds = std::numeric_limits<double>::infinity();
  for (Tried& each : tried) {
    const bool chosen = &each == &*choice;
    if (each.seconds > kWithin * least && !chosen && each.candidate.copies > 1) continue;
    MOTLEY_ASSIGN_OR_RETURN(each.seconds, SimulatedSeconds(made, each.candidate, steps, seed));
    const double placing = made.truth.data_seconds * (each.candidate.copies - 1);
    const double fixed = each.seconds + PerStep(placing, made);
    if (chosen) {
      const double change = SwitchSeconds({"proportional", 1}, each.candidate, made.truth);
      judged.chosen = NameOf(each.candidate);
      judged.chosen_seconds = each.seconds + PerStep(change, made);
    }
    if (each.candidate.scheme == "proportional") judged.uncoded_seconds = fixed;
    if (fixed >= judged.best_seconds) continue;
    judged.best_seconds = fixed;
    judged.best = NameOf(each.candidate);
  }
  return judged;
}

}  // namespace motley
