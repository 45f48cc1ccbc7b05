// SPDX-License-Identifier: Apache-2.0
// Jobs that lose their power and resume from checkpoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/sim_cluster.h"

namespace motley {
namespace {

SimOptions ThreeWorkers(const std::string& code) {
  SimOptions options;
  options.job.model = {"mlp:8", 6, 3};
  options.job.workers = 3;
  options.job.code = code;
  options.job.tolerate = code == "none" ? 0 : 1;
  options.job.shares = Shares::kEqual;
  options.job.batch = 30;
  options.job.steps = 40;
  options.job.optimizer.name = "adam";
  options.job.optimizer.learning_rate = 0.01;
  options.seed = 5;
  for (int i = 0; i < 3; ++i) {
    WorkerProfile worker;
    worker.device.samples_per_second = 1000;
    options.cluster.workers.push_back(worker);
  }
  return options;
}

SimOptions WithCuts(SimOptions options) {
  options.job.checkpoint.every = 3;
  options.job.checkpoint.code = {2, 1, ErasureTechnique::kVandermonde};
  options.power_cuts.most = 4;
  options.power_cuts.mean_seconds = 0.2;
  options.power_cuts.inside_write = 0.5;
  options.power_cuts.damaged_nodes = 1;
  return options;
}

TEST(PowerCuts, ChangeNoBitOfWhatIsLearnedWithoutACode) {
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  const auto calm = Simulate(ThreeWorkers("none"), data, nullptr);
  const auto cut = Simulate(WithCuts(ThreeWorkers("none")), data, nullptr);
  ASSERT_TRUE(calm.ok() && cut.ok());
  EXPECT_THAT(cut->violations, testing::IsEmpty());
  EXPECT_EQ(cut->reached.at("power cut"), 4u);
  EXPECT_GE(cut->reached.at("resumed from a checkpoint"), 1u);
  EXPECT_GT(cut->job.first_step, 0u);
  EXPECT_EQ(*cut->job.parameters, *calm->job.parameters);
  EXPECT_EQ(cut->job.batch_loss, calm->job.batch_loss) << "the curve covers all incarnations";
  EXPECT_EQ(cut->job.steps, 40u);
  EXPECT_EQ(cut->job.checkpoint_step, 40u);
}

TEST(PowerCuts, ChangeNothingButRoundingWithACode) {
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  const auto cut = Simulate(WithCuts(ThreeWorkers("cyclic")), data, nullptr);
  ASSERT_TRUE(cut.ok());
  EXPECT_THAT(cut->violations, testing::IsEmpty());
  EXPECT_TRUE(cut->job.status.ok()) << cut->job.status.ToString();
  EXPECT_LT(cut->serial_difference, 1e-3);
}

// Workers hold the vector, and the server reads its checkpoints from them while steps go on.
TEST(PowerCuts, LeaveWholeCheckpointsAlthoughOwnersAreLost) {
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  uint64_t given_up = 0, resumed = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    SimOptions options = WithCuts(ThreeWorkers("none"));
    options.seed = seed;
    options.job.checkpoint.every = 6;
    options.job.holders = JobOptions::Holders::kWorkers;
    options.job.read_every_version = true;
    options.job.shards = 4;
    options.job.slice_length = 4;
    for (WorkerProfile& worker : options.cluster.workers) {
      worker.link = {.latency_seconds = 2e-3, .bytes_per_second = 1e8};
    }
    options.random_faults.kill_every = 0.2;
    options.random_faults.restart = 1;
    options.random_faults.pause_every = 0.3;
    options.random_faults.until_seconds = 2;
    options.job.start_timeout = std::chrono::seconds(5);
    const auto cut = Simulate(options, data, nullptr);
    ASSERT_TRUE(cut.ok()) << cut.status().ToString();
    EXPECT_THAT(cut->violations, testing::IsEmpty());
    const auto times = [&](const char* state) {
      const auto found = cut->reached.find(state);
      return found != cut->reached.end() ? found->second : 0;
    };
    given_up += times("checkpoint given up with its owner");
    resumed += times("resumed from a checkpoint");
  }
  EXPECT_GT(given_up, 0u);
  EXPECT_GT(resumed, 0u);
}

// The workers live on, look for the server, and continue with its next process.
TEST(ServerDeath, ChangesNoBitOfWhatIsLearnedWithoutACode) {
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  const auto calm = Simulate(ThreeWorkers("none"), data, nullptr);
  SimOptions options = WithCuts(ThreeWorkers("none"));
  options.power_cuts.server_alone = 1;
  options.power_cuts.mean_seconds = 0.08;  // The server dies within the job.
  options.heartbeat = true;
  const auto dead = Simulate(options, data, nullptr);
  ASSERT_TRUE(calm.ok() && dead.ok());
  EXPECT_THAT(dead->violations, testing::IsEmpty());
  EXPECT_TRUE(dead->job.status.ok()) << dead->job.status.ToString();
  EXPECT_EQ(dead->reached.at("server died alone"), 1u);
  EXPECT_EQ(dead->live_workers, 3u);
  EXPECT_EQ(*dead->job.parameters, *calm->job.parameters);
  EXPECT_EQ(dead->job.steps, 40u);
}

TEST(PowerCuts, AreTheSameTwice) {
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  const SimOptions options = WithCuts(ThreeWorkers("none"));
  const auto first = Simulate(options, data, nullptr);
  const auto second = Simulate(options, data, nullptr);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->digest, second->digest);
}

TEST(PowerCuts, AFullDiskIsToldAndTrainingGoesOn) {
  struct Notices final : JobObserver {
    void OnEvent(const JobEvent& event) override {
      const auto* told = std::get_if<event::Noticed>(&event);
      if (told == nullptr) return;
      failed += std::holds_alternative<notice::CheckpointFailed>(told->notice) ? 1 : 0;
    }
    int failed = 0;
  } notices;
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  SimOptions options = WithCuts(ThreeWorkers("none"));
  options.power_cuts.most = 1;
  options.power_cuts.full_disk = 1;
  options.power_cuts.mean_seconds = 0.4;
  options.seed = 8;
  options.power_cuts.inside_write = 0;
  const auto full = Simulate(options, data, &notices);
  ASSERT_TRUE(full.ok());
  EXPECT_THAT(full->violations, testing::IsEmpty());
  EXPECT_TRUE(full->job.status.ok());
  EXPECT_GT(notices.failed, 0);
  EXPECT_EQ(full->job.checkpoint_step, 40u) << "there is room again after the power cut";
}

TEST(PowerCuts, ABrokenFolderIsToldAndLeftOutUntilItWorksAgain) {
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  SimOptions options = WithCuts(ThreeWorkers("none"));
  options.power_cuts.broken_node = 1;
  uint64_t degraded = 0;
  uint64_t whole = 0;
  uint64_t said = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    options.seed = seed;
    const auto result = Simulate(options, data, nullptr);
    ASSERT_TRUE(result.ok());
    EXPECT_THAT(result->violations, testing::IsEmpty()) << seed;
    EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
    EXPECT_EQ(result->job.checkpoint_step, 40u) << seed;
    whole += result->job.checkpoint_weakness ? 0 : 1;  // The last incarnation had no fault.
    said += result->reached.count("acknowledged checkpoint lost, and said");
    degraded += result->reached.count("checkpoint without all of its shards");
  }
  EXPECT_GT(degraded, 20u);
  EXPECT_GT(whole, 10u);
  EXPECT_GT(said, 5u);
}

TEST(PowerCuts, NeedCheckpointsAndACodeThatStandsTheDamage) {
  const Dataset data = MakeSyntheticDataset(120, 6, 3, 1);
  SimOptions options = WithCuts(ThreeWorkers("none"));
  options.power_cuts.damaged_nodes = 2;
  EXPECT_EQ(Simulate(options, data, nullptr).code(), StatusCode::kInvalidArgument);
  options = WithCuts(ThreeWorkers("none"));
  options.job.checkpoint.every = 0;
  EXPECT_EQ(Simulate(options, data, nullptr).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
