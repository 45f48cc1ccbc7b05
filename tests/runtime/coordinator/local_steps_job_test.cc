// SPDX-License-Identifier: Apache-2.0
// Jobs whose workers take steps of their own (local:H), with real gradients. Each round is held to
// a sequential training in double precision. random_schedules_test.cc has random faults.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/runtime/job_world.h"
#include "tests/runtime/sequence/local_rounds.h"

namespace motley {
namespace {

constexpr uint32_t kSteps = 3;  // H
constexpr uint32_t kBatch = 10;
constexpr double kOuterRate = 0.7;
constexpr double kOuterMomentum = 0.9;

class LocalStepsJob : public testing::Test {
 protected:
  static JobOptions Options(uint32_t workers, double momentum, uint32_t ahead = 0) {
    JobOptions options = JobWorld::Options(workers, "approximate");
    options.tolerate = 0;
    options.audit_fraction = 0;
    options.sync = *ParseSyncMode("local:3");
    options.sync.local_ahead = options.local.ahead = ahead;
    options.batch = workers * kSteps * kBatch;
    options.local.batch = kBatch;
    options.local.optimizer.name = momentum > 0 ? "momentum" : "sgd";
    options.local.optimizer.momentum = momentum > 0 ? momentum : 0.9;
    options.optimizer.name = "nag";
    options.optimizer.learning_rate = kOuterRate;
    options.optimizer.momentum = kOuterMomentum;
    options.steps = 20;
    return options;
  }

  void Start(const JobOptions& options) {
    rounds_.reset();
    world_ = std::make_unique<JobWorld>(options);
    rounds_ = std::make_unique<LocalRounds>(*world_);
    world_->StartServer();
  }

  bool RunUntilRound(uint64_t round) {
    return world_->RunUntil([&] { return rounds_->updates() >= round; });
  }

  std::unique_ptr<JobWorld> world_;
  std::unique_ptr<LocalRounds> rounds_;
};

TEST_F(LocalStepsJob, EqualsASequentialTraining) {
  for (const double momentum : {0.0, 0.9}) {
    for (const uint32_t workers : {1U, 2U, 5U}) {
      for (const uint32_t ahead : {0U, 1U, 2U}) {
        Start(Options(workers, momentum, ahead));
        world_->StartWorkers();
        rounds_->ExpectSameToTheEnd();
        EXPECT_EQ(rounds_->partial(), 0u) << "nobody was late";
        // Speeds are measured in the first rounds, and shares may follow them.
        EXPECT_GE(rounds_->rows_ahead(), ahead == 0 ? 0 : 10 * workers);
        EXPECT_LE(rounds_->rows_ahead(), ahead == 0 ? 0 : 19 * workers);
      }
    }
  }
}

// The others get other rows when a worker is lost, so their steps ahead do not count.
TEST_F(LocalStepsJob, StepsAheadOfAnotherRowLeaveNoTrace) {
  Start(Options(3, 0.9, 2));
  world_->StartWorkers();
  ASSERT_TRUE(RunUntilRound(8));
  const uint64_t before = rounds_->rows_ahead();
  EXPECT_GT(before, 0u);
  world_->Kill(*world_->workers[1]);
  ASSERT_TRUE(RunUntilRound(14));
  EXPECT_GT(rounds_->rows_ahead(), before);
  world_->StartWorker(1, 1);
  rounds_->ExpectSameToTheEnd();
}

TEST_F(LocalStepsJob, WorkersMayHoldTheParameters) {
  for (const uint32_t ahead : {0U, 2U}) {
    JobOptions options = Options(4, 0.9, ahead);
    options.holders = JobOptions::Holders::kWorkers;
    options.shards = 4;
    options.read_every_version = true;
    Start(options);
    world_->StartWorkers();
    rounds_->ExpectSameToTheEnd();
    EXPECT_EQ(rounds_->rows_ahead() > 0, ahead > 0);
  }
}

TEST_F(LocalStepsJob, ARoundEndsWithoutAWorkerThatStopped) {
  Start(Options(4, 0, 1));
  world_->StartWorkers();
  ASSERT_TRUE(RunUntilRound(5));
  const Time before = world_->loop.Now();
  world_->workers[1]->device->SetSpeed(1e-6);
  ASSERT_TRUE(RunUntilRound(15));
  EXPECT_LT(ToSeconds(world_->loop.Now() - before), 60.0) << "its row would take hours";
  EXPECT_GT(rounds_->partial(), 0u);
  world_->workers[1]->device->SetSpeed(1);
  rounds_->ExpectSameToTheEnd();
}

TEST_F(LocalStepsJob, TheSlowestTakesAStepToo) {
  Start(Options(3, 0, 2));
  world_->StartWorker(0, 1);
  world_->StartWorker(1, 1);
  world_->StartWorker(2, 0.001);
  rounds_->ExpectSameToTheEnd();
  EXPECT_EQ(rounds_->fewest_steps(), 1u);
  EXPECT_GT(world_->watcher.rows_of[2], 0);
}

TEST_F(LocalStepsJob, WhatDoesNotFitIsRefused) {
  const std::vector<std::function<void(JobOptions&)>> mistakes = {
      [](JobOptions& o) { o.code = "none"; },
      [](JobOptions& o) { o.tolerate = 1; },
      [](JobOptions& o) { o.audit_fraction = 0.1; },
      [](JobOptions& o) { o.local.batch = 0; },
      [](JobOptions& o) { o.local.ahead = 1; },
      [](JobOptions& o) { o.sync = SyncMode(); },
      [](JobOptions& o) {
        o.local.optimizer.groups = {{10, 0.1}};
      },
      [](JobOptions& o) { o.local.optimizer.schedule = "plateau"; },
  };
  for (const auto& spoil : mistakes) {
    JobOptions options = Options(3, 0);
    spoil(options);
    JobWorld world(options);
    const auto made =
        ServerNode::Create({world.loop, *world.server_transport, *world.server_device}, options,
                           world.source, nullptr);
    EXPECT_EQ(made.code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace motley
