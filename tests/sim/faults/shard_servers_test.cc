// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/shard_servers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

using testing::IsEmpty;

SimOptions Options(const Dataset& data, uint32_t servers) {
  SimOptions options;
  options.job.model = {.name = "softmax", .features = data.features, .classes = data.classes};
  options.job.workers = 3;
  options.job.batch = 32;
  options.job.steps = 60;
  options.job.shards = 4;
  options.job.slice_length = 8;
  options.job.holders = JobOptions::Holders::kShardServers;
  options.job.shard_servers = servers;
  options.job.read_every_version = true;
  for (int i = 0; i < 3; ++i) {
    WorkerProfile worker;
    worker.device.samples_per_second = 1000;
    worker.link = {.latency_seconds = 1e-4, .bytes_per_second = 1e8};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

// With one server workers follow, and with two the other one does.
TEST(SimulatedShardServers, MayDieAndComeBack) {
  const Dataset data = MakeSyntheticDataset(300, 8, 4, 3);
  for (const uint32_t servers : {1, 2}) {
    SimOptions options = Options(data, servers);
    options.random_faults.disturb_server_every = 0.4;
    options.random_faults.until_seconds = 1;
    options.job.start_timeout = std::chrono::seconds(3);
    const auto result = Simulate(options, data, nullptr);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
    EXPECT_THAT(result->violations, IsEmpty());
    EXPECT_EQ(result->job.steps, options.job.steps);
    EXPECT_EQ(result->job.discarded_steps, 0u);
    EXPECT_LT(result->serial_difference, 1e-5);
    EXPECT_GT(result->reached.at("shard server died"), 0u);
  }
}

}  // namespace
}  // namespace motley
