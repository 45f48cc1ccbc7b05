// SPDX-License-Identifier: Apache-2.0
// Jobs whose vector is held by shard servers.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coding/schemes.h"
#include "scheduler/placement/shard_ranges.h"
#include "tests/runtime/job_world.h"

namespace motley {
namespace {

JobOptions WithServers(const std::string& code, uint32_t servers) {
  JobOptions options = JobWorld::Options(4, code);
  options.shards = options.shard_servers = servers;
  options.holders = JobOptions::Holders::kShardServers;
  return options;
}

TEST(ShardServers, GiveTheParametersOfASerialLoop) {
  for (const Scheme& scheme : Schemes()) {
    for (const uint32_t servers : {1, 3}) {
      SCOPED_TRACE(testing::Message() << scheme.name << ", " << servers << " shard servers");
      JobWorld world(WithServers(std::string(scheme.name), servers));
      world.StartServer();
      world.StartWorkers();
      for (uint32_t i = 0; i < servers; ++i) world.StartShardServer();
      ExpectSerialParameters(world, world.Run());
      EXPECT_EQ(world.watcher.joined.size(), 4u);
      EXPECT_EQ(world.result->worker_names.size(), 4u);
      world.RunUntil([&] { return world.loop.pending() == 0; });
      for (const auto& node : world.workers) {
        ASSERT_TRUE(node->ended);
        EXPECT_TRUE(node->ended->ok()) << node->ended->ToString();
      }
    }
  }
}

// The follower is another shard server if there is one, and otherwise a worker.
TEST(ShardServers, OutliveOneOfThem) {
  for (const uint32_t servers : {1, 3}) {
    for (const char* code : {"none", "cyclic", "adaptive"}) {
      SCOPED_TRACE(testing::Message() << code << ", " << servers << " shard servers");
      JobWorld world(WithServers(code, servers));
      world.options.optimizer.name = "momentum";
      world.StartServer();
      world.StartWorkers();
      for (uint32_t i = 0; i < servers; ++i) world.StartShardServer();
      bool killed = false;
      world.watcher.on_step = [&](StepId step) {
        if (step == 5 && !std::exchange(killed, true)) world.Kill(*world.workers[4]);
      };
      ExpectSerialParameters(world, world.Run());
      EXPECT_TRUE(killed);
      EXPECT_TRUE(world.watcher.lost.empty());
    }
  }
}

TEST(ShardServers, AreWaitedFor) {
  JobWorld world(WithServers("none", 2));
  world.StartServer();
  world.StartWorkers();
  world.StartShardServer();
  world.loop.After(std::chrono::seconds(5), [&] {
    EXPECT_EQ(world.watcher.opened, 0);
    world.StartShardServer();
  });
  ExpectSerialParameters(world, world.Run());
  EXPECT_GE(world.loop.Now(), Time{} + std::chrono::seconds(5));
}

// They are lost before the workers come, so the vector has no owner yet.
TEST(ShardServers, AreWaitedForAgainIfAllAreLost) {
  for (const bool return_in_time : {true, false}) {
    JobWorld world(WithServers("none", 1));
    world.StartServer();
    const WorkerBox& first = world.StartShardServer();
    world.loop.After(std::chrono::seconds(2), [&] { world.Kill(*world.workers[0]); });
    world.loop.After(std::chrono::seconds(3), [&] { world.StartWorkers(); });
    if (return_in_time) {
      world.loop.After(std::chrono::seconds(5), [&] {
        EXPECT_EQ(world.watcher.applied, 0);
        world.StartShardServer();
      });
    }
    const JobResult& end = world.Run();
    EXPECT_FALSE(first.ended);
    if (return_in_time) {
      ExpectSerialParameters(world, end);
    } else {
      EXPECT_NE(end.status.ToString().find("0 of 1 shard server"), std::string::npos)
          << end.status.ToString();
    }
  }
}

TEST(ShardServers, ThatDoNotComeFailTheJob) {
  JobWorld world(WithServers("none", 2));
  world.StartServer();
  world.StartWorkers();
  world.StartShardServer();
  const JobResult& end = world.Run();
  EXPECT_EQ(end.status.code(), StatusCode::kUnavailable);
  EXPECT_NE(end.status.ToString().find("1 of 2 shard servers"), std::string::npos)
      << end.status.ToString();
}

// One that comes late follows, and then has all that the first one had.
TEST(ShardServers, PassToLaterOnes) {
  JobWorld world(WithServers("none", 1));
  world.options.steps = 40;
  world.options.optimizer.name = "momentum";
  world.StartServer();
  world.StartWorkers();
  world.StartShardServer();
  std::vector<StepId> at = {30, 20};
  world.watcher.on_step = [&](StepId step) {
    if (at.empty() || step != at.back()) return;
    if (at.size() == 2) {
      world.Kill(*world.workers[4]);
      world.loop.Post([&] { world.StartShardServer(); });
    } else {
      world.Kill(*world.workers[0]);
    }
    at.pop_back();
  };
  ExpectSerialParameters(world, world.Run());
  EXPECT_TRUE(at.empty());
}

TEST(ShardServers, AreRefusedByAJobWithoutPlacesForThem) {
  JobWorld world(JobWorld::Options(2, "none"));
  world.StartServer();
  const WorkerBox& server = world.StartShardServer();
  world.StartWorkers();
  const JobResult& end = world.Run();
  EXPECT_TRUE(end.status.ok()) << end.status.ToString();
  ASSERT_TRUE(server.ended);
  EXPECT_NE(server.ended->ToString().find("takes no shard servers"), std::string::npos)
      << server.ended->ToString();
}

// 440,008 parameters, which are worth measuring links for.
JobOptions LongVector(JobOptions::Holders holders, uint32_t servers) {
  JobOptions options = JobWorld::Options(4, "none");
  options.model.name = "mlp:40000";
  options.slice_length = 1u << 16;
  options.steps = 2;
  options.batch = 40;
  options.holders = holders;
  options.shard_servers = servers;
  return options;
}

// What the job said about the place of its vector.
std::optional<notice::VectorPlaced> Placed(const JobWorld& world) {
  for (const JobNotice& each : world.watcher.notices) {
    if (const auto* placed = std::get_if<notice::VectorPlaced>(&each)) return *placed;
  }
  return std::nullopt;
}

TEST(ShardServers, OwnPartsOfALongVectorByMeasuredLinks) {
  JobWorld world(LongVector(JobOptions::Holders::kShardServers, 2));
  world.StartServer();
  world.StartWorkers();
  for (int i = 0; i < 2; ++i) world.StartShardServer();
  const JobResult& end = world.Run();
  ASSERT_TRUE(end.status.ok()) << end.status.ToString();
  const auto placed = Placed(world);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->choice.kind, Reduce::kSharded);
  const ShardShares shares = SharesOf(placed->choice.ranges, placed->nodes.size());
  ASSERT_EQ(shares.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(shares[i], i < 4 ? 0 : 0.5, 0.01);
}

// A server on a machine of its own carries more than one that has a worker beside it.
TEST(ShardServers, HelpWorkersThatOwnTheVector) {
  JobWorld world(LongVector(JobOptions::Holders::kWorkers, 3));
  world.StartServer();
  for (int i = 0; i < 2; ++i) world.StartShardServer();
  world.RunUntil([&] { return world.watcher.notices.size() >= 2; });
  world.StartWorkers();
  const JobResult& end = world.Run();
  ASSERT_TRUE(end.status.ok()) << end.status.ToString();
  const auto placed = Placed(world);
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->choice.kind, Reduce::kDirect);
  EXPECT_EQ(placed->nodes.size(), 6u);
}

}  // namespace
}  // namespace motley
