// SPDX-License-Identifier: Apache-2.0
// Turns at the server (r2sp): what even turns and parts that follow speeds bring.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "scheduler/sync/batch_parts.h"
#include "sim/sim_cluster.h"
#include "training/trainers/batch_schedule.h"

namespace motley {
namespace {

using testing::IsEmpty;

constexpr uint32_t kWorkers = 8;
constexpr double kVector = 100e3;  // Bytes.
constexpr uint32_t kBatch = 64;    // Samples of a worker.

// A worker of speed 1 computes its batch in 64 ms, and a vector takes 5 ms on the server's link.
SimOptions Cluster(const std::string& sync, std::initializer_list<double> speeds) {
  SimOptions options;
  options.job.workers = kWorkers;
  options.job.batch = kBatch;
  options.job.steps = 400;
  options.job.code = "none";
  options.job.tolerate = 0;
  options.job.audit_fraction = 0;
  options.job.sync = *ParseSyncMode(sync);
  options.trainer = SimTrainer::kCostOnly;
  options.cluster.gradient_bytes = static_cast<uint64_t>(kVector);
  options.cluster.server = ServerRates{20e6, 20e6};
  for (uint32_t i = 0; i < kWorkers; ++i) {
    WorkerProfile worker;
    worker.device = {.samples_per_second = 1000 * speeds.begin()[i % speeds.size()],
                     .jitter = 0.05};
    worker.link = {.latency_seconds = 2e-4, .bytes_per_second = 125e6};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

// All workers of a cycle share the batches that they would have.
SimOptions Shared(SimOptions options) {
  options.job.turns = kWorkers;
  options.job.batch *= kWorkers;
  return options;
}

struct Pace {
  double updates = 0;    // A second.
  double vector_ms = 0;  // From an answer's first byte to its last, on average.
  uint64_t oldest = 0;   // The largest staleness.
};

Pace PaceOf(SimOptions options) {
  std::map<StepId, std::pair<Time, Time>> answers;
  options.on_transfer = [&](const SimTransfer& each) {
    if (!each.to_server) return;
    const auto [at, first] = answers.emplace(each.step, std::pair(each.begin, each.end));
    if (!first) at->second.second = std::max(at->second.second, each.end);
  };
  const Dataset data = MakeSyntheticDataset(1600, 4, 0, 5);
  const auto result = Simulate(options, data, nullptr);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return {};
  EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
  EXPECT_THAT(result->violations, IsEmpty());
  Pace pace;
  pace.updates = static_cast<double>(options.job.steps) / result->job.wall_seconds;
  for (const auto& [update, span] : answers) {
    pace.vector_ms +=
        1e3 * ToSeconds(span.second - span.first) / static_cast<double>(answers.size());
  }
  pace.oldest = result->job.staleness.max;
  return pace;
}

// All updates of a job have samples, in whatever way batches and partitions fall: also in a short
// batch at an epoch's end, and if two workers share a batch of four samples.
TEST(Turns, AllHaveSamples) {
  Random random(9, Stream::kTest);
  for (int i = 0; i < 300; ++i) {
    const auto turns = static_cast<uint32_t>(2 + random.Below(8));
    const auto each = static_cast<uint32_t>(2 + random.Below(random.Chance(0.5) ? 3 : 60));
    const uint32_t batch = turns * each;
    const uint64_t samples = batch * (1 + random.Below(6)) + random.Below(2 * turns);
    const auto partitions = static_cast<uint32_t>(turns + random.Below(samples - turns + 1));
    const BatchSchedule schedule(random.Next64(), PartitionSizes(samples, partitions), batch,
                                 turns);
    BatchParts parts(turns, [&](StepId turn) {
      SharedBatch shared{schedule.turns(turn), {}};
      for (const auto& range : schedule.Ranges(turn)) shared.samples.push_back(range.count);
      return shared;
    });
    std::vector<WorkerId> workers(turns);
    std::iota(workers.begin(), workers.end(), 0);
    std::vector<double> speeds(turns);
    for (double& speed : speeds) speed = std::pow(10, 4 * random.NextDouble());
    for (StepId step = 0; step < 3 * schedule.steps_per_epoch(); ++step) {
      const auto worker = static_cast<WorkerId>(step % turns);
      const BatchPart part = parts.Next(worker, workers, speeds);
      ASSERT_GT(part.samples, 0u) << "update " << step << " of " << samples << " samples in "
                                  << partitions << " partitions, " << turns << " x " << each;
      parts.Took(worker, part);
    }
  }
}

TEST(Turns, SeldomShareTheLink) {
  const Pace turns = PaceOf(Shared(Cluster("r2sp", {1})));
  const Pace at_will = PaceOf(Cluster("asp", {1}));
  EXPECT_LT(turns.oldest, kWorkers);
  EXPECT_LT(turns.vector_ms, 10) << "without even turns it would be 11 ms";
  EXPECT_GT(turns.updates, 0.85 * at_will.updates);
}

TEST(Turns, OfUnequalWorkersTakeEquallyLong) {
  const std::initializer_list<double> speeds = {1, 0.25, 0.5, 1};
  const Pace parts = PaceOf(Shared(Cluster("r2sp", speeds)));
  const Pace whole = PaceOf(Cluster("r2sp", speeds));
  EXPECT_LT(parts.oldest, kWorkers);
  EXPECT_GT(parts.updates, 1.8 * whole.updates) << "no turn waits for the slowest worker";
}

}  // namespace
}  // namespace motley
