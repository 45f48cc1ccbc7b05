// SPDX-License-Identifier: Apache-2.0
// Jobs whose workers have updates of their own, with real gradients and each mode. Each job is held
// to a sequential training in double precision that applies the same updates in the same order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/runtime/job_world.h"
#include "tests/training/reference.h"

namespace motley {
namespace {

struct Decoded {
  StepId update = 0;
  uint64_t version = 0;
  std::optional<WorkerId> worker = {};
};

constexpr char kScaled[] = "constant:warmup=5,sqrt=128";

class OwnUpdatesJob : public testing::Test {
 protected:
  void Start(const std::string& sync, uint32_t workers, OldGradients old = OldGradients::kAsOthers,
             const std::string& schedule = "constant", bool share = false) {
    decoded_.clear();
    parts_.clear();
    stalest_ = 0;
    JobOptions options = JobWorld::Options(workers, "none");
    options.sync = *ParseSyncMode(sync);
    options.audit_fraction = 0;
    options.steps = 40;
    options.old_gradients = old;
    if (options.sync.own_momentum) options.optimizer = {.name = "nag", .learning_rate = 0.02};
    options.optimizer.schedule = schedule;
    if (schedule == kScaled) options.batch = 90;  // The last one of an epoch has 60 samples.
    if (share) options.turns = workers;
    world_ = std::make_unique<JobWorld>(options);
    world_->watcher.on_event = [this](const JobEvent& event) {
      if (const auto* opened = std::get_if<event::StepOpened>(&event)) {
        parts_[opened->step] = opened->code.rows.front();
      }
    };
    world_->watcher.on_decoded = [this](const event::StepDecoded& event) {
      decoded_.push_back({event.step, event.version, event.worker});
    };
    world_->StartServer();
    world_->StartWorkers();
  }

  // Trains sequentially, with every gradient at the version that its worker had.
  void ExpectSameAsInSequence() {
    const JobResult& end = world_->Run();
    ASSERT_TRUE(end.status.ok()) << end.status.ToString();
    const JobOptions& options = world_->options;
    ASSERT_EQ(end.steps, options.steps);
    ASSERT_EQ(decoded_.size(), options.steps);
    const Dataset& data = world_->data;
    const uint32_t partitions = PartitionCount(data.rows(), options.workers).value();
    const BatchSchedule schedule(options.seed, PartitionSizes(data.rows(), partitions),
                                 options.batch, options.turns);
    const size_t count = end.parameters->size();
    std::vector<std::vector<double>> versions{std::vector<double>(count)};  // Softmax starts at 0.
    std::vector<std::vector<double>> momenta(options.workers, std::vector<double>(count));
    std::vector<double> squares(count);  // Mean squares of the steps per unit of rate.
    double largest = 0;                  // The largest rate so far.
    std::set<StepId> updates;
    uint64_t sum = 0;
    std::vector<uint64_t> stale;
    for (const Decoded& each : decoded_) {
      ASSERT_LT(each.version, versions.size());
      const std::vector<uint32_t> rows = RowsOf(schedule, each.update);
      std::vector<double> gradient(count);
      reference::LossAndGradient(options.model, versions[each.version], Select(data, rows),
                                 gradient);
      const uint64_t staleness = versions.size() - 1 - each.version;
      double rate = options.optimizer.learning_rate;
      if (options.old_gradients == OldGradients::kRate)
        rate /= static_cast<double>(std::max<uint64_t>(staleness, 1));
      if (options.optimizer.schedule == kScaled) {
        rate *= std::min(1.0, static_cast<double>(versions.size()) / 6);
        rate *= std::sqrt(static_cast<double>(rows.size()) / 128);
      }
      largest = std::max(largest, rate);
      std::vector<double> next = versions.back();
      for (size_t i = 0; i < count; ++i) {
        double step = gradient[i] / static_cast<double>(rows.size());
        if (options.old_gradients == OldGradients::kGap && staleness > 0) {
          const double whole = 1 - std::pow(0.999, static_cast<double>(versions.size() - 1));
          const double gap = std::abs(next[i] - versions[each.version][i]);
          step /= 1 + gap / (largest * (std::sqrt(squares[i] / whole) + 1e-8));
        }
        if (options.sync.own_momentum) {
          double& momentum = momenta.at(each.worker.value())[i];
          momentum = options.optimizer.momentum * momentum + step;
          step += options.optimizer.momentum * momentum;
        }
        next[i] -= rate * step;
        squares[i] = 0.999 * squares[i] + 0.001 * step * step;
      }
      stale.push_back(staleness);
      sum += staleness;
      stalest_ = std::max(stalest_, staleness);
      versions.push_back(std::move(next));
      updates.insert(each.update);
    }
    EXPECT_EQ(updates.size(), options.steps) << "every batch counts once";
    EXPECT_EQ(world_->watcher.staleness, stale);
    EXPECT_EQ(end.staleness.updates, options.steps);
    EXPECT_EQ(end.staleness.sum, sum);
    EXPECT_EQ(end.staleness.max, *std::max_element(stale.begin(), stale.end()));
    for (size_t i = 0; i < count; ++i) {
      ASSERT_NEAR(end.parameters->at(i), versions.back()[i], 2e-5) << i;
    }
  }

  // The parts of each batch are all of it, and each part has a sample. The job's end may cut off
  // parts of the last batch.
  void ExpectEachBatchOnce() {
    const uint32_t all = PartitionCount(world_->data.rows(), world_->options.workers).value();
    const BatchSchedule schedule(world_->options.seed, PartitionSizes(world_->data.rows(), all),
                                 world_->options.batch, world_->options.turns);
    std::map<StepId, size_t> partitions;  // By the first update of the batch.
    StepId first = 0;
    for (const auto& [update, part] : parts_) {
      if (update == first + schedule.turns(first)) first = update;
      partitions[first] += part.size();
      EXPECT_FALSE(RowsOf(schedule, update).empty()) << "update " << update;
    }
    if (first + schedule.turns(first) > world_->options.steps) partitions.erase(first);
    for (const auto& [update, count] : partitions) EXPECT_EQ(count, all) << "from " << update;
  }

  // The samples of an update: those of its partitions in the batch.
  std::vector<uint32_t> RowsOf(const BatchSchedule& schedule, StepId update) {
    const std::vector<uint32_t> batch = schedule.Rows(update);
    const std::vector<BatchSchedule::Range> ranges = schedule.Ranges(update);
    std::vector<uint32_t> rows;
    for (const CodeEntry& entry : parts_.at(update)) {
      const BatchSchedule::Range& range = ranges[entry.partition];
      rows.insert(rows.end(), batch.begin() + range.begin, batch.begin() + range.end());
    }
    return rows;
  }

  std::unique_ptr<JobWorld> world_;
  std::map<StepId, std::vector<CodeEntry>> parts_;  // By update.
  std::vector<Decoded> decoded_;
  uint64_t stalest_ =
      0;  // The largest number of updates between a version's use and its gradient's.
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
      ExpectSameAsInSequence();
      if (workers == 1) {
        EXPECT_EQ(stalest_, 0u);
      } else {
        EXPECT_GT(stalest_, 0u) << "several updates are open at a time";
      }
    }
  }
}

TEST_F(OwnUpdatesJob, MayLowerTheRateOfOldGradients) {
  for (const char* sync : {"asp", "ssp:2", "dssp:0,3"}) {
    SCOPED_TRACE(sync);
    Start(sync, 5, OldGradients::kRate);
    ExpectSameAsInSequence();
    EXPECT_GT(stalest_, 1u) << "there is something to lower";
  }
}

TEST_F(OwnUpdatesJob, MayDivideOldGradientsByTheirGaps) {
  for (const char* sync : {"asp", "ssp:2", "r2sp"}) {
    SCOPED_TRACE(sync);
    Start(sync, 5, OldGradients::kGap);
    ExpectSameAsInSequence();
    EXPECT_GT(stalest_, 1u) << "there are gaps";
  }
}

TEST_F(OwnUpdatesJob, KnowsTheGapsWhenWorkersDieAndJoin) {
  Start("asp", 4, OldGradients::kGap);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 10; }));
  world_->Kill(*world_->workers[1]);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 20; }));
  world_->StartWorker(1);
  ExpectSameAsInSequence();
}

TEST_F(OwnUpdatesJob, MayScaleTheRateByTheSamplesOfAnUpdate) {
  for (const char* sync : {"asp", "ssp:2", "r2sp", "dana"}) {
    SCOPED_TRACE(sync);
    Start(sync, 5, OldGradients::kAsOthers, kScaled);
    ExpectSameAsInSequence();
  }
}

// Every cycle of turns has a batch, and each of its samples is in one update.
TEST_F(OwnUpdatesJob, MayShareABatchAmongTurns) {
  for (const uint32_t workers : {2U, 4U, 5U}) {
    for (const OldGradients old : {OldGradients::kAsOthers, OldGradients::kGap}) {
      Start("r2sp", workers, old, kScaled, /*share=*/true);
      ExpectSameAsInSequence();
      ExpectEachBatchOnce();
      EXPECT_LT(stalest_, workers);
    }
  }
}

TEST_F(OwnUpdatesJob, SharesBatchesWhenWorkersDieAndJoin) {
  Start("r2sp", 4, OldGradients::kAsOthers, "constant", /*share=*/true);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 10; }));
  world_->Kill(*world_->workers[1]);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 20; }));
  world_->StartWorker(1);
  ExpectSameAsInSequence();
}

TEST_F(OwnUpdatesJob, GoesOnWhenWorkersDieAndJoin) {
  for (const std::string& sync : Modes()) {
    SCOPED_TRACE(sync);
    Start(sync, 4);
    ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 10; }));
    world_->Kill(*world_->workers[1]);
    ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 20; }));
    world_->StartWorker(1);
    ExpectSameAsInSequence();
    EXPECT_EQ(world_->watcher.lost.count(1), 1u) << sync;
  }
}

TEST_F(OwnUpdatesJob, GoesOnAfterTheLossOfAll) {
  Start("ssp:1", 2);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.applied >= 10; }));
  for (const auto& worker : world_->workers) world_->Kill(*worker);
  ASSERT_TRUE(world_->RunUntil([this] { return world_->watcher.lost.size() == 2; }));
  world_->StartWorker(0);
  ExpectSameAsInSequence();
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
