// SPDX-License-Identifier: Apache-2.0
// Workers with two devices of different speed: sums are exact, speeds add up, and a worker goes on
// when one of the two breaks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::IsEmpty;

constexpr uint32_t kSamples = 2048;

SimOptions Cluster(const char* code, uint32_t tolerate, std::vector<double> second_devices) {
  SimOptions options;
  options.job.workers = 3;
  options.job.batch = 512;
  options.job.steps = 40;
  options.job.code = code;
  options.job.tolerate = tolerate;
  options.job.model = {"mlp:8", 6, 3};
  options.second_devices = std::move(second_devices);
  for (const double speed : {4000.0, 2000.0, 2000.0}) {
    WorkerProfile worker;
    worker.device = {.samples_per_second = speed, .overhead_seconds = 1e-4, .jitter = 0.03};
    worker.link = {.latency_seconds = 1e-4};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

SimResult Simulated(const SimOptions& options) {
  const Dataset data = MakeSyntheticDataset(kSamples, 6, 3, 5);
  const auto result = Simulate(options, data, nullptr);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return {};
  EXPECT_THAT(result->violations, IsEmpty()) << options.job.code;
  EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
  EXPECT_EQ(result->job.steps, options.job.steps);
  EXPECT_LT(result->serial_difference, 1e-4);
  return *result;
}

double MedianStep(const SimResult& result) {
  std::vector<double> seconds = result.job.step_seconds;
  std::sort(seconds.begin(), seconds.end());
  return seconds.empty() ? 0 : seconds[seconds.size() / 2];
}

TEST(JoinedDevices, AreAWorkerOfTheirSpeedsTogether) {
  for (const char* code : {"none", "heterogeneous", "adaptive", "auto"}) {
    const uint32_t tolerate = std::string(code) == "heterogeneous" ? 1 : 0;
    const double alone = MedianStep(Simulated(Cluster(code, tolerate, {})));
    const double joined = MedianStep(Simulated(Cluster(code, tolerate, {0.5, 0.2, 0.75})));
    EXPECT_LT(joined, 1.35 * alone) << code;
    EXPECT_GT(joined, 0.7 * alone) << code;
  }
}

TEST(JoinedDevices, OneThatBreaksTakesNothingWithIt) {
  uint64_t given_up = 0, lost = 0;
  for (const char* code : {"none", "cyclic", "adaptive", "multi-message"}) {
    SimOptions options = Cluster(code, std::string(code) == "cyclic" ? 1 : 0, {0.5, 0.2, 0.75});
    options.random_faults = {.break_every = 1, .until_seconds = 3};
    for (options.seed = 1; options.seed <= 5; ++options.seed) {
      const SimResult result = Simulated(options);
      const auto times = [&result](const char* state) {
        const auto found = result.reached.find(state);
        return found == result.reached.end() ? 0 : found->second;
      };
      given_up += times("device given up alone");
      lost += times("worker lost");
      EXPECT_EQ(result.job.discarded_steps, 0u);
    }
  }
  EXPECT_GT(given_up, 10u);
  EXPECT_LT(lost, given_up) << "a worker is lost only with its second device";
}

TEST(JoinedDevices, OneThatIsLateIsDoneWithoutUntilItIsBack) {
  uint64_t without = 0;
  for (const char* code : {"none", "cyclic", "adaptive", "multi-message"}) {
    SimOptions options = Cluster(code, std::string(code) == "cyclic" ? 1 : 0, {0.5, 0.2, 0.75});
    options.job.steps = 120;
    // A rate of breaks above 0 turns on timeouts for devices. Still none may be given up here.
    options.random_faults = {.break_every = 1e9, .stall_every = 1, .until_seconds = 10};
    for (options.seed = 1; options.seed <= 5; ++options.seed) {
      const SimResult result = Simulated(options);
      if (result.reached.contains("gradient without a late device")) {
        without += result.reached.at("gradient without a late device");
      }
      EXPECT_FALSE(result.reached.contains("device given up alone"));
      EXPECT_FALSE(result.reached.contains("worker lost"));
      EXPECT_EQ(result.job.discarded_steps, 0u);
    }
  }
  EXPECT_GT(without, 20u);
}

// With one worker, no other worker can take over the work.
TEST(JoinedDevices, OneThatIsLateHoldsNoStepUpForLong) {
  SimOptions options = Cluster("none", 0, {0.5});
  options.job.workers = 1;
  options.cluster.workers.resize(1);
  options.job.steps = 80;
  options.random_faults = {.stall_every = 2, .until_seconds = 8};
  uint64_t without = 0;
  for (options.seed = 1; options.seed <= 5; ++options.seed) {
    const SimResult result = Simulated(options);
    if (!result.reached.contains("gradient without a late device")) continue;
    ++without;
    // The timeout is eight times a piece, at least 1 s. Then all of the work is done once more.
    // Stalls are longer than this.
    for (const double seconds : result.job.step_seconds) EXPECT_LT(seconds, 1.45);
  }
  EXPECT_GT(without, 2u);
}

TEST(JoinedDevices, ThatCannotBeAreRefused) {
  const Dataset data = MakeSyntheticDataset(kSamples, 6, 3, 5);
  EXPECT_EQ(Simulate(Cluster("none", 0, {1.0}), data, nullptr).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Simulate(Cluster("none", 0, {-0.5}), data, nullptr).code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
