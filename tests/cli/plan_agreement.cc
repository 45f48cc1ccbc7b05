// SPDX-License-Identifier: Apache-2.0
#include "plan_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "api/reports/job_report.h"
#include "base/random.h"
#include "cli/commands/plan_report.h"
#include "cli/commands/simulation.h"
#include "cli/report/compare.h"
#include "coding/gradient_code.h"
#include "fmt/core.h"
#include "fmt/ranges.h"
#include "planner/planner.h"
#include "test_paths.h"

namespace motley {
namespace {

constexpr double kMostApart = 0.10;
constexpr uint64_t kOtherSeeds = 107;  // And the next; the plan's are from 7 on.

// As motley simulate --compare runs it.
std::vector<double> SeedMeans(const ClusterProfile& cluster, uint32_t batch,
                              const SimulatedJobCode& code, uint64_t seed) {
  SimulateFlags flags;
  flags.job.batch = batch;
  flags.job.code = code.code;
  flags.job.tolerate = code.tolerate;
  flags.job.tolerate_given = true;
  flags.job.parts = SchemeNamed(code.code).has_parts ? code.parts : 0;
  flags.job.steps = kLearningSteps + kCountedSteps;
  flags.job.quiet = true;
  flags.job.seed = seed;
  flags.seeds = kComparedSeeds;
  Result<Simulation> sim = PrepareSimulation(flags, cluster);
  EXPECT_TRUE(sim.ok()) << sim.status().ToString();
  if (!sim.ok()) return {};
  sim->options.job.most_workers = code.workers;
  // Pairs of floats; what is cut twice as finely takes as long.
  const uint32_t pairs = SimulatedSliceLength(cluster.gradient_bytes) / 4;
  sim->options.job.slice_length = std::max(JobOptions().slice_length, 2 * pairs);
  const Result<SimSummary> summary = RunSeeds(flags, *sim, nullptr);
  EXPECT_TRUE(summary.ok()) << summary.status().ToString();
  return summary.ok() ? summary->seed_means : std::vector<double>();
}

double HalfOf(const std::vector<double>& seed_means) {
  const auto interval = MeanInterval(seed_means);
  return interval ? (interval->high - interval->low) / 2 : 0;
}

struct Agreement {
  uint32_t steady = 0;  // Schemes whose interval is as narrow as they must agree,
  uint32_t wide = 0;    // and others: of these one run says little of the next.
};

// Every scheme that a job can run, with every number of copies, and none left out: with other seeds
// than the plan's it takes as long, within 10 % or the intervals that both state.
Agreement ExpectAgreement(const ClusterProfile& cluster, uint32_t batch, const std::string& about) {
  Agreement agreement;
  PlanFlags flags;
  flags.batch = batch;
  const auto parallel = MakeThreadParallelFor(2);
  const Result<PlanReport> plan = MakePlanReport(flags, cluster, *parallel, nullptr);
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  if (!plan.ok()) return agreement;
  EXPECT_TRUE(plan->plan.unseen.empty()) << plan->plan.unseen.front().second;
  for (const PlannedScheme& planned : plan->plan.ranking.schemes) {
    if (!planned.refused.empty()) continue;
    const SimulatedScheme& seen = *plan->plan.Seen(planned.candidate);
    const auto other = SeedMeans(cluster, batch, SimulatedCodeOf(planned.candidate), kOtherSeeds);
    const double here = planned.cost.expected, there = Mean(other);
    const double apart = std::abs(here - there);
    const double halves = HalfOf(seen.seed_means) + HalfOf(other);
    ++(HalfOf(seen.seed_means) <= kMostApart * here ? agreement.steady : agreement.wide);
    EXPECT_LE(apart, std::max(kMostApart * there, halves)) << fmt::format(
        "{}: {} is planned to take {:.2f} ms, and takes {:.2f} ms; seeds {:.4g} and "
        "{:.4g} s",
        about, ShortNameOf(planned.candidate), here * 1e3, there * 1e3,
        fmt::join(seen.seed_means, " "), fmt::join(other, " "));
  }
  fmt::print("{}: the seeds of {} schemes agree within 10 %, those of {} do not\n", about,
             agreement.steady, agreement.wide);
  std::fflush(stdout);
  return agreement;
}

double LogUniform(Random& random, double from, double to) {
  return from * std::exp(std::log(to / from) * random.NextDouble());
}

// 3 to 16 workers of two kinds, of speeds and links up to ten times apart.
ClusterProfile DrawCluster(uint64_t seed, uint32_t& batch) {
  Random random(seed, Stream::kTest, 18);
  ClusterProfile cluster;
  cluster.name = fmt::format("drawn-{}", seed);
  const auto n = static_cast<uint32_t>(std::lround(LogUniform(random, 3, 16)));
  batch = 256u << random.Below(4);
  const double step_seconds = LogUniform(random, 0.02, 2);
  const double speed = batch / step_seconds / n;
  const double vector_seconds = step_seconds * LogUniform(random, 1e-3, 0.3);
  const double latency = step_seconds * LogUniform(random, 1e-4, 0.02);
  const double jitter = LogUniform(random, 0.005, 0.1);
  cluster.gradient_bytes = static_cast<uint64_t>(LogUniform(random, 1e4, 1e8));
  const double rate = static_cast<double>(cluster.gradient_bytes) / vector_seconds;
  for (uint32_t w = 0; w < n; ++w) {
    WorkerProfile worker;
    worker.device.name = fmt::format("worker-{}", w);
    worker.device.samples_per_second = speed * LogUniform(random, 0.3, 3);
    worker.device.overhead_seconds = step_seconds * LogUniform(random, 1e-4, 5e-3);
    worker.device.jitter = jitter;
    worker.link.latency_seconds = latency;
    worker.link.bytes_per_second = rate * LogUniform(random, 0.5, 2);
    if (random.Chance(0.3)) {
      worker.link.down = LinkDirection{latency, 4 * worker.link.bytes_per_second};
    }
    cluster.workers.push_back(worker);
  }
  if (random.Chance(0.5)) {
    cluster.server.emplace();
    cluster.server->in = random.Chance(0.3) ? 0 : rate * LogUniform(random, 1, n);
    cluster.server->out = random.Chance(0.5) ? cluster.server->in : rate * LogUniform(random, 1, n);
  }
  return cluster;
}

}  // namespace

void ExpectAgreementOn(const std::string& name, double steady) {
  const auto cluster = LoadClusterProfile(MOTLEY_SOURCE_DIR "/profiles/" + name + ".toml");
  ASSERT_TRUE(cluster.ok()) << cluster.status().ToString();
  const Agreement agreement = ExpectAgreement(*cluster, 256, name);
  EXPECT_GE(agreement.steady, steady * (agreement.steady + agreement.wide));
}

void ExpectAgreementOnDrawn(uint64_t from, uint64_t to) {
  Agreement all;
  for (uint64_t seed = from; seed < to; ++seed) {
    uint32_t batch = 0;
    const ClusterProfile cluster = DrawCluster(seed, batch);
    const Agreement one = ExpectAgreement(cluster, batch, cluster.name);
    all.steady += one.steady;
    all.wide += one.wide;
  }
  EXPECT_GE(all.steady, 0.8 * (all.steady + all.wide));
}

}  // namespace motley
