// SPDX-License-Identifier: Apache-2.0
// Jobs whose owners of shards die at every point of a step, most of them while an update is applied
// (sim/faults/kinds/kill_fault). The checkers hold what that may cost (sim/checkers).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <string>

#include "sim/checkers/shard_loss_checker.h"
#include "sim/sim_cluster.h"

namespace motley {
namespace {

constexpr uint64_t kJobs = 300;

// Followers read new values with sgd, and get sums with the other optimizers.
SimOptions WithDyingOwners(uint64_t seed, const Dataset& data) {
  constexpr const char* kCodes[] = {"none", "repetition", "adaptive", "heterogeneous"};
  constexpr const char* kOptimizers[] = {"sgd", "momentum", "sgd", "adam"};
  SimOptions options;
  options.seed = options.job.seed = seed;
  options.job.model = {.name = "softmax", .features = data.features, .classes = data.classes};
  options.job.workers = 3 + seed % 3;
  options.job.code = kCodes[seed % std::size(kCodes)];
  options.job.tolerate = options.job.code == "none" ? 0 : 1;
  options.job.batch = 24;
  options.job.steps = 25;
  options.job.optimizer.name = kOptimizers[seed / 4 % std::size(kOptimizers)];
  options.job.optimizer.learning_rate = 0.01;
  options.job.slice_length = 8;
  options.job.shards = 4;
  options.job.holders = JobOptions::Holders::kWorkers;
  options.job.followers = 1 + seed / 16 % 3;
  options.job.read_every_version = true;
  options.job.start_timeout = std::chrono::seconds(5);
  for (uint32_t worker = 0; worker < options.job.workers; ++worker) {
    WorkerProfile profile;
    profile.device.samples_per_second = 2000;
    profile.link = {.latency_seconds = 1e-3, .bytes_per_second = 1e6};
    options.cluster.workers.push_back(profile);
  }
  options.random_faults = {.kill_every = 0.2, .restart = 1};
  options.random_faults.until_seconds = 2;
  return options;
}

TEST(OwnerLosses, RepeatOnlyTheOpenStep) {
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  std::map<std::string, uint64_t> reached;
  uint64_t done = 0;
  for (uint64_t seed = 1; seed <= kJobs; ++seed) {
    SCOPED_TRACE(seed);
    const auto result = Simulate(WithDyingOwners(seed, data), data, nullptr);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_THAT(result->violations, testing::IsEmpty());
    const Status& end = result->job.status;
    EXPECT_TRUE(end.ok() || ShardLossChecker::IsOfLostShard(end)) << end.ToString();
    done += end.ok() ? 1 : 0;
    for (const auto& [state, times] : result->reached) reached[state] += times;
  }
  // So many owners die that most jobs lose a shard.
  EXPECT_GT(done, kJobs / 5);
  EXPECT_GT(kJobs - done, kJobs / 5);
  EXPECT_GT(reached["update taken back after its owner left"], kJobs / 10);
  EXPECT_GT(reached["step repeated after an owner left"], kJobs / 10);
}

}  // namespace
}  // namespace motley
