// SPDX-License-Identifier: Apache-2.0
#include "plan_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "fmt/core.h"
#include "scheduler/planner.h"
#include "sim/sim_cluster.h"
#include "sim/simulated_scheme.h"
#include "test_paths.h"

namespace motley {
namespace {

constexpr double kMostApart = 0.10;
constexpr uint32_t kCounted = 100;
// Of some 25 schemes on a cluster: five alike runs of a job do not prove that all others are alike.
constexpr uint32_t kByChance = 1;

// As motley simulate runs it: other seeds than the plan's, and slices as jobs cut them. The middle
// one of three seeds, because one in ten may differ where links are crowded.
double SimulatedSeconds(const ClusterProfile& cluster, uint32_t batch,
                        const SimulatedJobCode& code) {
  SimOptions options;
  options.trainer = SimTrainer::kCostOnly;
  options.cluster = cluster;
  options.cluster.server = ServerRatesOf(cluster);
  options.job.workers = static_cast<uint32_t>(cluster.workers.size());
  options.job.batch = batch;
  options.job.steps = kLearningSteps + kCounted;
  options.job.code = code.code;
  options.job.tolerate = code.tolerate;
  options.job.parts = code.parts;
  options.job.most_workers = code.workers;
  options.job.audit_fraction = 0;
  options.max_virtual_seconds = 1e7;
  options.samples = 16 * uint64_t{batch};
  std::vector<double> means;
  for (const uint64_t seed : {7, 8, 9}) {
    options.seed = options.job.seed = seed;
    const Result<SimResult> result = Simulate(options, Dataset(), nullptr);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    if (!result.ok()) return 0;
    EXPECT_TRUE(result->violations.empty()) << result->violations.front();
    const std::vector<double>& seconds = result->job.step_seconds;
    EXPECT_EQ(seconds.size(), kLearningSteps + kCounted);
    means.push_back(std::accumulate(seconds.begin() + kLearningSteps, seconds.end(), 0.0) /
                    kCounted);
  }
  std::sort(means.begin(), means.end());
  return means[1];
}

struct Agreement {
  uint32_t held = 0;      // Schemes of which the plan says what they take.
  uint32_t unsteady = 0;  // Of which it says that runs differ.
  uint32_t apart = 0;     // Of those that are held, further apart than is allowed.
};

// Every scheme that a job can run, with every number of copies.
Agreement ExpectAgreement(const ClusterProfile& cluster, uint32_t batch, const std::string& about) {
  Agreement agreement;
  std::string words;
  PlannedJob job;
  job.samples = batch;
  const PlannedCluster believed = ClusterOf(cluster, job);
  const Result<Ranking> ranking = RankSchemes(believed, {});
  EXPECT_TRUE(ranking.ok()) << ranking.status().ToString();
  if (!ranking.ok()) return agreement;
  const Result<SimulatedPlan> plan = SimulateRanking(*ranking, believed, cluster, {});
  EXPECT_TRUE(plan.ok()) << plan.status().ToString();
  if (!plan.ok()) return agreement;
  for (const PlannedScheme& planned : plan->ranking.schemes) {
    const auto code = SimulatedCodeOf(planned.candidate);
    if (!code || !planned.refused.empty()) continue;
    if (!plan->Seen(planned.candidate)->steady()) {
      ++agreement.unsteady;
      continue;
    }
    ++agreement.held;
    const double simulated = SimulatedSeconds(cluster, batch, *code);
    const double apart = planned.cost.expected / simulated - 1;
    if (std::abs(apart) <= kMostApart) continue;
    ++agreement.apart;
    words += fmt::format("{}: {} is planned to take {:.2f} ms, and takes {:.2f} ms ({:+.1f} %)\n",
                         about, ShortNameOf(planned.candidate), planned.cost.expected * 1e3,
                         simulated * 1e3, 100 * apart);
  }
  EXPECT_LE(agreement.apart, kByChance) << words;
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

void ExpectAgreementOn(const std::string& name) {
  const auto cluster = LoadClusterProfile(MOTLEY_SOURCE_DIR "/profiles/" + name + ".toml");
  ASSERT_TRUE(cluster.ok()) << cluster.status().ToString();
  const Agreement agreement = ExpectAgreement(*cluster, 256, name);
  EXPECT_GE(agreement.held, 3u) << agreement.unsteady << " schemes are unsteady";
}

void ExpectAgreementOnDrawn(uint64_t from, uint64_t to) {
  Agreement all;
  for (uint64_t seed = from; seed < to; ++seed) {
    uint32_t batch = 0;
    const ClusterProfile cluster = DrawCluster(seed, batch);
    const Agreement one = ExpectAgreement(cluster, batch, cluster.name);
    all.held += one.held;
    all.unsteady += one.unsteady;
  }
  EXPECT_GE(all.held, 9 * all.unsteady) << all.unsteady << " schemes are unsteady";
}

}  // namespace motley
