// SPDX-License-Identifier: Apache-2.0
// Jobs whose workers have updates of their own, with real gradients and each mode. Each job is held
// to a sequential training in double precision that applies the same updates in the same order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/job_world.h"
#include "tests/runtime/sequence/own_updates.h"

namespace motley {
namespace {

constexpr char kScaled[] = "constant:warmup=5,sqrt=128";

class OwnUpdatesJob : public testing::Test {
 protected:
  void Start(const std::string& sync, uint32_t workers, OldGradients old = OldGradients::kAsOthers,
             const std::string& schedule = "constant", bool share = false) {
    JobOptions options = JobWorld::Options(workers, "none");
    options.sync = *ParseSyncMode(sync);
    options.audit_fraction = 0;
    options.steps = 40;
    options.old_gradients = old;
    if (options.sync.own_momentum) options.optimizer = {.name = "nag", .learning_rate = 0.02};
    options.optimizer.schedule = schedule;
    if (schedule == kScaled) options.batch = 90;  // The last one of an epoch has 60 samples.
    if (share) options.turns = workers;
    training_.reset();
    world_ = std::make_unique<JobWorld>(options);
    training_ = std::make_unique<OwnUpdates>(*world_, schedule == kScaled ? ScaledRate : nullptr);
    world_->StartServer();
    world_->StartWorkers();
  }

  static double ScaledRate(uint64_t update, size_t samples) {
    return std::min(1.0, static_cast<double>(update) / 6) *
           std::sqrt(static_cast<double>(samples) / 128);
  }

  std::unique_ptr<JobWorld> world_;
  std::unique_ptr<OwnUpdates> training_;
};

// Every mode of the list, with the least numbers and with larger ones.
std::set<std::string> Modes() {
  std::set<std::string> modes;
  for (const SyncForm& form : SyncForms()) {
    for (const SyncForm::Numbers& numbers : {SyncForm::Numbers{0, 0}, SyncForm::Numbers{2, 4}}) {
      const SyncMode mode = form.make(numbers);
      if (mode.one_each) modes.insert(NameOf(mode));
    }
  }
  return modes;
}

TEST_F(OwnUpdatesJob, EqualsASequentialTraining) {
  for (const std::string& sync : Modes()) {
    for (const uint32_t workers : {1U, 2U, 5U}) {
      SCOPED_TRACE(sync);
      Start(sync, workers);
      training_->ExpectSameToTheEnd();
      if (workers == 1) {
        EXPECT_EQ(training_->stalest(), 0u);
      } else {
        EXPECT_GT(training_->stalest(), 0u) << "several updates are open at a time";
      }
    }
  }
}

TEST_F(OwnUpdatesJob, MayLowerTheRateOfOldGradients) {
  for (const char* sync : {"asp", "ssp:2", "dssp:0,3"}) {
    SCOPED_TRACE(sync);
    Start(sync, 5, OldGradients::kRate);
    training_->ExpectSameToTheEnd();
    EXPECT_GT(training_->stalest(), 1u) << "there is something to lower";
  }
}

TEST_F(OwnUpdatesJob, MayDivideOldGradientsByTheirGaps) {
  for (const char* sync : {"asp", "ssp:2", "r2sp"}) {
    SCOPED_TRACE(sync);
    Start(sync, 5, OldGradients::kGap);
    training_->ExpectSameToTheEnd();
    EXPECT_GT(training_->stalest(), 1u) << "there are gaps";
  }
}

TEST_F(OwnUpdatesJob, KnowsTheGapsWhenWorkersDieAndJoin) {
  Start("asp", 4, OldGradients::kGap);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 10; }));
  world_->Kill(*world_->workers[1]);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 20; }));
  world_->StartWorker(1);
  training_->ExpectSameToTheEnd();
}

TEST_F(OwnUpdatesJob, MayScaleTheRateByTheSamplesOfAnUpdate) {
  for (const char* sync : {"asp", "ssp:2", "r2sp", "dana"}) {
    SCOPED_TRACE(sync);
    Start(sync, 5, OldGradients::kAsOthers, kScaled);
    training_->ExpectSameToTheEnd();
  }
}

// Every cycle of turns has a batch, and each of its samples is in one update.
TEST_F(OwnUpdatesJob, MayShareABatchAmongTurns) {
  for (const uint32_t workers : {2U, 4U, 5U}) {
    for (const OldGradients old : {OldGradients::kAsOthers, OldGradients::kGap}) {
      Start("r2sp", workers, old, kScaled, /*share=*/true);
      training_->ExpectSameToTheEnd();
      training_->ExpectEachBatchOnce();
      EXPECT_LT(training_->stalest(), workers);
    }
  }
}

TEST_F(OwnUpdatesJob, SharesBatchesWhenWorkersDieAndJoin) {
  Start("r2sp", 4, OldGradients::kAsOthers, "constant", /*share=*/true);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 10; }));
  world_->Kill(*world_->workers[1]);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 20; }));
  world_->StartWorker(1);
  training_->ExpectSameToTheEnd();
}

TEST_F(OwnUpdatesJob, GoesOnWhenWorkersDieAndJoin) {
  for (const std::string& sync : Modes()) {
    SCOPED_TRACE(sync);
    Start(sync, 4);
    ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 10; }));
    world_->Kill(*world_->workers[1]);
    ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 20; }));
    world_->StartWorker(1);
    training_->ExpectSameToTheEnd();
    EXPECT_EQ(world_->watcher.lost.count(1), 1u) << sync;
  }
}

TEST_F(OwnUpdatesJob, GoesOnAfterTheLossOfAll) {
  Start("ssp:1", 2);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 10; }));
  for (const auto& worker : world_->workers) world_->Kill(*worker);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.lost.size() == 2; }));
  world_->StartWorker(0);
  training_->ExpectSameToTheEnd();
}

TEST_F(OwnUpdatesJob, WhatDoesNotFitIsRefused) {
  const std::vector<std::function<void(JobOptions&)>> mistakes = {
      [](JobOptions& o) { o.code = "cyclic"; },
      [](JobOptions& o) { o.code = "adaptive"; },
      [](JobOptions& o) { o.audit_fraction = 0.1; },
      [](JobOptions& o) { o.holders = JobOptions::Holders::kWorkers; },
      [](JobOptions& o) {
        o.sync = *ParseSyncMode("dana");
        o.optimizer.name = "momentum";
      },
  };
  for (const auto& spoil : mistakes) {
    JobOptions options = JobWorld::Options(3, "none");
    options.sync = *ParseSyncMode("asp");
    options.audit_fraction = 0;
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
