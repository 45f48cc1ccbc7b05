// SPDX-License-Identifier: Apache-2.0
// Jobs in which sending the data takes far longer than a step. Workers that wait for data do not
// count as late, and the data are not sent again and again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::IsEmpty;

constexpr uint32_t kPartitions = 96;

// A step of this cluster takes about 0.2 s, and sending all the data 20 s.
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

JobResult Run(const SimOptions& options) {
  const Dataset data = MakeSyntheticDataset(960, 4, 0, 5);
  const std::string& code = options.job.code;
  const auto result = Simulate(options, data, nullptr);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return {};
  EXPECT_THAT(result->violations, IsEmpty()) << code;
  EXPECT_EQ(result->job.steps, options.stop_after_steps) << code;
  return result->job;
}

uint64_t Placed(const SimOptions& options) {
  uint64_t placed = 0;
  for (const WorkerStats& worker : Run(options).scheduler.workers) {
    placed += worker.placed_partitions;
  }
  return placed;
}

// The median time of the last `steps` steps.
double UsualSeconds(const SimOptions& options, size_t steps) {
  std::vector<double> seconds = Run(options).step_seconds;
  if (seconds.size() < steps) return 0;
  seconds.erase(seconds.begin(), seconds.end() - static_cast<ptrdiff_t>(steps));
  std::sort(seconds.begin(), seconds.end());
  return seconds[steps / 2];
}

// The mean over eight seeds. Single runs differ by half, depending on their first measurements.
double MeanPlaced(SimOptions options) {
  uint64_t placed = 0;
  for (options.seed = 1; options.seed <= 8; ++options.seed) placed += Placed(options);
  return static_cast<double>(placed) / 8;
}

TEST(SlowData, AreSentOnceAndASecondTimeOnlyForBetterShares) {
  EXPECT_LE(MeanPlaced(Cluster("none", 0)), 1.6 * kPartitions);
  EXPECT_LE(MeanPlaced(Cluster("repetition", 1)), 3.2 * kPartitions);
  EXPECT_LE(MeanPlaced(Cluster("heterogeneous", 1)), 3 * kPartitions);
}

TEST(SlowData, OfLeasesAreSentOnceAndCopiesAsOftenAsPlansChange) {
  EXPECT_LE(Placed(Cluster("adaptive", 0)), 1.1 * kPartitions);
  EXPECT_LE(Placed(Cluster("adaptive", 1)), 3.2 * kPartitions);
}

// Many workers with `speed` samples a second and more; each is sometimes slow. Sending all data
// takes `data_seconds` on the server's link, four times as long as one worker's part on its link.
SimOptions ManyWorkers(uint32_t workers, double speed, double data_seconds, double slow) {
  SimOptions options = Cluster("auto", 0);
  options.job.workers = workers;
  options.job.batch = 960;
  options.job.partitions = 16 * workers;
  options.job.steps = 20'000;
  options.server_bytes_per_second = 1e8;
  options.data_bytes = data_seconds * options.server_bytes_per_second;
  options.cluster.workers.clear();
  for (uint32_t w = 0; w < workers; ++w) {
    WorkerProfile worker;
    worker.device = {.samples_per_second = speed * (1 + 0.04 * w),
                     .jitter = 0.02,
                     .tail_probability = slow,
                     .tail_factor = 5};
    worker.link = {.latency_seconds = 2e-4, .bytes_per_second = 4 * 1e8 / workers};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

// Workers that wait for copies do not count as silent, so their data are not sent to others.
TEST(SlowData, CopiesAreSentOnceWhileStepsGoOn) {
  SimOptions options = ManyWorkers(29, 5, 185, 0.005);
  options.stop_after_steps = 80;
  EXPECT_LE(Placed(options), 2.3 * options.job.partitions);
}

// Answers that waited for data of an earlier step may look like slow links.
TEST(SlowData, TrialsLeaveSharesAsTheyWere) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SimOptions options = ManyWorkers(18, 1200, 3, 0.002);
    options.seed = seed;
    options.stop_after_steps = 160;
    options.job.code = "none";
    const double plain = UsualSeconds(options, 60);
    options.job.code = "auto";
    EXPECT_LE(UsualSeconds(options, 60), 1.1 * plain) << "seed " << seed;
    EXPECT_LE(Placed(options), 2.8 * options.job.partitions) << "seed " << seed;
  }
}

double MeanOf(const std::vector<double>& seconds, size_t from, size_t to) {
  double sum = 0;
  for (size_t i = from; i < to; ++i) sum += seconds.at(i);
  return sum / static_cast<double>(to - from);
}

// The copies take each worker's link for a dozen steps. Parameters wait for one piece or two, of
// 0.026 s each.
TEST(SlowData, CopiesDoNotDelaySteps) {
  SimOptions options = Cluster("adaptive", 2);
  options.job.workers = 4;
  options.job.partitions = 64;
  options.server_bytes_per_second = 0;
  options.data_bytes = 0;  // Blocks of 240 kB, as long as they are.
  WorkerProfile worker;
  worker.device = {.samples_per_second = 100, .jitter = 0.02};
  worker.link = {.latency_seconds = 1e-3, .bytes_per_second = 2.5e6};
  options.cluster.workers.assign(4, worker);
  const Dataset data = MakeSyntheticDataset(1920, 2000, 0, 5);
  const auto result = Simulate(options, data, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_THAT(result->violations, IsEmpty());
  uint64_t placed = 0;
  for (const WorkerStats& each : result->job.scheduler.workers) placed += each.placed_partitions;
  EXPECT_EQ(placed, 3 * 64u);
  const std::vector<double>& steps = result->job.step_seconds;
  const double after = MeanOf(steps, 40, 60);
  EXPECT_LE(MeanOf(steps, 1, 11), 1.05 * after);
  EXPECT_LE(*std::max_element(steps.begin() + 1, steps.end()), 1.15 * after);
}

// The workers have the samples, and say so when partitions are announced.
TEST(SlowData, CopiesOfSamplesThatWorkersHaveFollowEachOther) {
  SimOptions options = Cluster("adaptive", 2);
  options.data_bytes = 0;
  options.samples = 960;
  EXPECT_GE(Placed(options), 3 * kPartitions);
  EXPECT_LE(Placed(options), 3.2 * kPartitions);
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
