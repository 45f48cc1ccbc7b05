// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/cases/planner_bench.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "fmt/core.h"
#include "planner/planner.h"

namespace motley {
namespace {

constexpr double kGoalSeconds = 1;  // For 10,000 workers.
constexpr int kRuns = 3;            // The best run counts.

// A cluster with steps of one second; speeds differ by up to six times.
PlannedCluster Cluster(uint32_t workers) {
  Random random(1, Stream::kSimulation, workers);
  PlannedCluster cluster;
  cluster.samples = 0;
  for (uint32_t w = 0; w < workers; ++w) {
    const double speed = std::exp(std::log(6.0) * random.NextDouble());
    PlannedWorker worker;
    worker.curve.seconds_per_sample = 1 / speed;
    worker.curve.overhead_seconds = 1e-4;
    worker.jitter = 0.04;
    worker.slow_probability = 1e-3;
    worker.slow_factor = 5;
    worker.loss_probability = 1e-6;
    worker.latency_seconds = 1e-4;
    cluster.samples += speed;
    cluster.workers.push_back(worker);
  }
  cluster.notice_seconds = 0.1;
  cluster.data_seconds = 10;
  cluster.remaining_steps = 10'000;
  return cluster;
}

}  // namespace

Result<std::vector<BenchLine>> BenchPlanner(const BenchOptions& options) {
  std::vector<BenchLine> lines;
  double events_per_worker = 0;  // For the smallest cluster: events / (n log n).
  const uint32_t most = options.full ? 100'000 : 1'000;
  for (uint32_t n = 10; n <= most; n *= 10) {
    const PlannedCluster cluster = Cluster(n);
    Result<Ranking> ranking = Status::Internal("not run");
    double seconds = std::numeric_limits<double>::infinity();
    for (int run = 0; run < (options.full ? kRuns : 1); ++run) {
      seconds = std::min(seconds, ProcessorSecondsOf([&] { ranking = RankSchemes(cluster, {}); }));
      if (!ranking.ok()) return ranking.status();
    }
    const double size = n * std::log2(n);
    const double events = static_cast<double>(ranking->events);
    if (events_per_worker == 0) events_per_worker = events / size;
    if (events > events_per_worker * size) {
      return Status::Internal(fmt::format(
          "{} workers take {} events, more than n log n from 10 workers on", n, ranking->events));
    }
    lines.push_back({fmt::format("{} workers, {} candidates", n, ranking->schemes.size()),
                     "plans/s", 1 / seconds, "a second each", 1 / kGoalSeconds});
    lines.push_back({fmt::format("{} workers", n), "events/n", events / n, "n log n from 10",
                     events_per_worker * std::log2(n)});
  }
  return lines;
}

}  // namespace motley
