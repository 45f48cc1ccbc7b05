// SPDX-License-Identifier: Apache-2.0
// Jobs whose data take far longer to be sent than a step takes: whoever waits for them is not late,
// and they are not sent again and again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::IsEmpty;

constexpr uint32_t kPartitions = 96;

// Of which a step takes about a fifth of a second, and all the data twenty.
SimOptions Cluster(const char* code, uint32_t tolerate) {
  SimOptions options;
  options.trainer = SimTrainer::kCostOnly;
  options.job.workers = 6;
  options.job.batch = 96;
  options.job.partitions = kPartitions;
  options.job.steps = 2000;
  options.job.code = code;
  options.job.tolerate = tolerate;
  options.cluster.gradient_bytes = 40'000;
  options.server_bytes_per_second = 1e6;
  options.data_bytes = 20e6;
  options.stop_after_steps = 60;
  for (const double speed : {100.0, 80.0, 50.0, 100.0, 25.0, 100.0}) {
    WorkerProfile worker;
    worker.device = {.samples_per_second = speed,
                     .overhead_seconds = 0.002,
                     .jitter = 0.05,
                     .tail_probability = 0.05,
                     .tail_factor = 3};
    worker.link = {.latency_seconds = 1e-3, .bytes_per_second = 4e5};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

uint64_t Placed(const SimOptions& options) {
  const Dataset data = MakeSyntheticDataset(960, 4, 0, 5);
  const std::string& code = options.job.code;
  const auto result = Simulate(options, data, nullptr);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return 0;
  EXPECT_THAT(result->violations, IsEmpty()) << code;
  EXPECT_EQ(result->job.steps, options.stop_after_steps) << code;
  uint64_t placed = 0;
  for (const WorkerStats& worker : result->job.scheduler.workers) {
    placed += worker.placed_partitions;
  }
  return placed;
}

TEST(SlowData, AreSentOnceAndASecondTimeOnlyForBetterShares) {
  EXPECT_LE(Placed(Cluster("none", 0)), 1.5 * kPartitions);
  EXPECT_LE(Placed(Cluster("repetition", 1)), 3 * kPartitions);
  EXPECT_LE(Placed(Cluster("heterogeneous", 1)), 3 * kPartitions);
}

TEST(SlowData, OfLeasesAreSentOnceAndCopiesAsOftenAsPlansChange) {
  EXPECT_LE(Placed(Cluster("adaptive", 0)), 1.1 * kPartitions);
  EXPECT_LE(Placed(Cluster("adaptive", 1)), 3.2 * kPartitions);
}

TEST(SlowData, FaultsMeanwhileDoNotStopAJob) {
  for (const char* code : {"none", "adaptive", "auto"}) {
    SimOptions options = Cluster(code, 0);
    options.random_faults = {.kill_every = 30,
                             .restart = 1,
                             .pause_every = 10,
                             .slow_every = 5,
                             .partition_every = 10,
                             .until_seconds = 120};
    for (options.seed = 1; options.seed <= 6; ++options.seed) {
      EXPECT_GE(Placed(options), kPartitions) << code << ", seed " << options.seed;
    }
  }
}

}  // namespace
}  // namespace motley
