// SPDX-License-Identifier: Apache-2.0
// Jobs whose workers take steps of their own (local:H), with real gradients. Each round is held to
// a sequential training in double precision: the steps of each answer that counted, one after the
// other, then the outer update. Steps ahead of a round begin where the worker's last one ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "tests/runtime/job_world.h"
#include "tests/training/reference.h"

namespace motley {
namespace {

using Values = std::vector<double>;

constexpr uint32_t kSteps = 3;  // H
constexpr uint32_t kBatch = 10;
constexpr double kOuterRate = 0.7;
constexpr double kOuterMomentum = 0.9;

// What an own optimizer of a worker has learned.
using Velocity = std::map<WorkerId, Values>;

// The end of a worker's last round that counted.
struct RoundEnd {
  StepId round = 0;
  std::vector<CodeEntry> row;
  Values values;
};

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
    momentum_ = options.local.optimizer.name == "sgd" ? 0 : options.local.optimizer.momentum;
    world_ = std::make_unique<JobWorld>(options);
    world_->watcher.on_event = [this](const JobEvent& event) {
      if (const auto* opened = std::get_if<event::StepOpened>(&event)) {
        rows_ = opened->code.rows;
        counted_.assign(rows_.size(), true);
        owner_.clear();
        ahead_.clear();
      } else if (const auto* assigned = std::get_if<event::RowAssigned>(&event)) {
        EXPECT_FALSE(owner_.contains(assigned->row)) << "one worker has a row, and no other";
        owner_[assigned->row] = assigned->worker;
        ahead_[assigned->row] = assigned->ahead;
        rows_ahead_ += assigned->ahead ? 1 : 0;
      } else if (const auto* sum = std::get_if<event::StepApproximated>(&event)) {
        ++approximated_;
        for (size_t row = 0; row < rows_.size(); ++row) counted_[row] = sum->sum.weights[row] != 0;
      } else if (const auto* decoded = std::get_if<event::StepDecoded>(&event)) {
        Decoded(*decoded);
      }
    };
    const uint32_t partitions = PartitionCount(world_->data.rows(), options.workers).value();
    schedule_.emplace(options.seed, PartitionSizes(world_->data.rows(), partitions), options.batch);
    values_.clear();  // Softmax starts at 0.
    ends_.clear();
    rounds_ = 0;
    rows_ahead_ = 0;
    approximated_ = 0;
    fewest_ = UINT32_MAX;
    world_->StartServer();
  }

  // The samples of a row in one of `turns` own steps, one after the other.
  std::vector<uint32_t> RowsOf(StepId round, const std::vector<CodeEntry>& row, uint32_t turn,
                               uint32_t turns) const {
    std::vector<bool> has(schedule_->partition_sizes().size());
    for (const CodeEntry& entry : row) has[entry.partition] = true;
    std::vector<uint32_t> samples;
    const std::vector<uint32_t> all = schedule_->Rows(round);
    for (size_t rank = turn; rank < all.size(); rank += turns) {
      PartitionId p = 0;
      while (p + 1 < has.size() && schedule_->first_sample(p + 1) <= all[rank]) ++p;
      if (has[p]) samples.push_back(all[rank]);
    }
    return samples;
  }

  // Adds the answer that a row should have, and returns its number of samples.
  size_t AddAnswer(StepId round, RowId row, Values& sum) {
    const double rate = world_->options.local.optimizer.learning_rate;
    const size_t samples = RowsOf(round, rows_[row], 0, 1).size();
    const uint32_t turns = std::max<uint32_t>(1, (samples + kBatch / 2) / kBatch);
    fewest_ = std::min(fewest_, turns);
    Values now = values_;
    Values& velocity = velocity_[owner_.at(row)];
    velocity.resize(now.size());
    const auto take = [&](uint32_t from, uint32_t to, Values& values) {
      for (uint32_t turn = from; turn < to; ++turn) {
        const std::vector<uint32_t> batch = RowsOf(round, rows_[row], turn, turns);
        Values gradient(values.size());
        reference::LossAndGradient(world_->options.model, values, Select(world_->data, batch),
                                   gradient);
        for (size_t i = 0; i < values.size(); ++i) {
          const double mean = batch.empty() ? 0 : gradient[i] / static_cast<double>(batch.size());
          velocity[i] = momentum_ * velocity[i] + mean;
          values[i] -= rate * velocity[i];
        }
      }
    };
    RoundEnd& end = ends_[owner_.at(row)];
    uint32_t ahead = 0;
    if (ahead_.at(row)) {
      ahead = std::min(world_->options.local.ahead, turns - 1);
      ExpectSameRow(round, row, end);
      Values own = end.values;
      take(0, ahead, own);
      for (size_t i = 0; i < now.size(); ++i) now[i] += own[i] - end.values[i];
    }
    take(ahead, turns, now);
    for (size_t i = 0; i < now.size(); ++i) {
      sum[i] += static_cast<double>(samples) * (values_[i] - now[i]);
    }
    end = {round, rows_[row], now};
    return samples;
  }

  void ExpectSameRow(StepId round, RowId row, const RoundEnd& last) const {
    ASSERT_EQ(last.values.size(), values_.size()) << "no answer of the worker has counted";
    EXPECT_EQ(last.round + 1, round);
    ASSERT_EQ(last.row.size(), rows_[row].size());
    for (size_t i = 0; i < last.row.size(); ++i) {
      EXPECT_EQ(last.row[i].partition, rows_[row][i].partition);
    }
  }

  void Decoded(const event::StepDecoded& event) {
    ASSERT_EQ(event.step, rounds_);
    if (values_.empty()) {
      values_.assign(event.parameters.size(), 0.0);
      outer_.assign(event.parameters.size(), 0.0);
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      ASSERT_NEAR(event.parameters[i], values_[i], 1e-4) << "round " << rounds_;
    }
    Values sum(values_.size());
    size_t samples = 0;
    for (RowId row = 0; row < rows_.size(); ++row) {
      if (counted_[row] && !rows_[row].empty()) samples += AddAnswer(event.step, row, sum);
    }
    ASSERT_GT(samples, 0u);
    for (size_t i = 0; i < values_.size(); ++i) {
      const double gradient = sum[i] / static_cast<double>(samples);
      EXPECT_NEAR(event.sum.gradient[i] / event.sum.weight, gradient, 1e-5) << "round " << rounds_;
      outer_[i] = kOuterMomentum * outer_[i] + gradient;
      values_[i] -= kOuterRate * (gradient + kOuterMomentum * outer_[i]);
    }
    ++rounds_;
  }

  void ExpectSameAsInSequence() {
    const JobResult& end = world_->Run();
    ASSERT_TRUE(end.status.ok()) << end.status.ToString();
    ASSERT_EQ(end.steps, world_->options.steps);
    ASSERT_EQ(rounds_, world_->options.steps);
    for (size_t i = 0; i < values_.size(); ++i) {
      ASSERT_NEAR(end.parameters->at(i), values_[i], 1e-4) << i;
    }
  }

  std::unique_ptr<JobWorld> world_;
  double momentum_ = 0;
  std::optional<BatchSchedule> schedule_;
  // The open round: the partitions of each row, and if its answer counts.
  std::vector<std::vector<CodeEntry>> rows_;
  std::vector<bool> counted_;
  std::map<RowId, WorkerId> owner_;
  std::map<RowId, bool> ahead_;  // The owner goes on from steps ahead.
  // The sequential training.
  Values values_;
  Values outer_;
  Velocity velocity_;
  std::map<WorkerId, RoundEnd> ends_;
  uint64_t rounds_ = 0;
  uint64_t rows_ahead_ = 0;    // Rows whose workers went on from steps ahead.
  uint64_t approximated_ = 0;  // Rounds without all answers.
  uint32_t fewest_ = 0;        // Own steps in an answer.
};

TEST_F(LocalStepsJob, EqualsASequentialTraining) {
  for (const double momentum : {0.0, 0.9}) {
    for (const uint32_t workers : {1U, 2U, 5U}) {
      for (const uint32_t ahead : {0U, 1U, 2U}) {
        velocity_.clear();
        Start(Options(workers, momentum, ahead));
        world_->StartWorkers();
        ExpectSameAsInSequence();
        EXPECT_EQ(approximated_, 0u) << "nobody was late";
        // Speeds are measured in the first rounds, and shares may follow them.
        EXPECT_GE(rows_ahead_, ahead == 0 ? 0 : 10 * workers);
        EXPECT_LE(rows_ahead_, ahead == 0 ? 0 : 19 * workers);
      }
    }
  }
}

// The others get other rows when a worker is lost, so their steps ahead do not count.
TEST_F(LocalStepsJob, StepsAheadOfAnotherRowLeaveNoTrace) {
  Start(Options(3, 0.9, 2));
  world_->StartWorkers();
  ASSERT_TRUE(world_->RunUntil([this] { return rounds_ >= 8; }));
  const uint64_t before = rows_ahead_;
  EXPECT_GT(before, 0u);
  world_->Kill(*world_->workers[1]);
  velocity_.erase(1);
  ASSERT_TRUE(world_->RunUntil([this] { return rounds_ >= 14; }));
  EXPECT_GT(rows_ahead_, before);
  world_->StartWorker(1, 1);
  ExpectSameAsInSequence();
}

TEST_F(LocalStepsJob, WorkersMayHoldTheParameters) {
  for (const uint32_t ahead : {0U, 2U}) {
    velocity_.clear();
    JobOptions options = Options(4, 0.9, ahead);
    options.holders = JobOptions::Holders::kWorkers;
    options.shards = 4;
    options.read_every_version = true;
    Start(options);
    world_->StartWorkers();
    ExpectSameAsInSequence();
    EXPECT_EQ(rows_ahead_ > 0, ahead > 0);
  }
}

TEST_F(LocalStepsJob, ARoundEndsWithoutAWorkerThatStopped) {
  Start(Options(4, 0, 1));
  world_->StartWorkers();
  ASSERT_TRUE(world_->RunUntil([this] { return rounds_ >= 5; }));
  const Time before = world_->loop.Now();
  world_->workers[1]->device->SetSpeed(1e-6);
  ASSERT_TRUE(world_->RunUntil([this] { return rounds_ >= 15; }));
  EXPECT_LT(ToSeconds(world_->loop.Now() - before), 60.0) << "its row would take hours";
  EXPECT_GT(approximated_, 0u);
  world_->workers[1]->device->SetSpeed(1);
  ExpectSameAsInSequence();
}

TEST_F(LocalStepsJob, TheSlowestTakesAStepToo) {
  Start(Options(3, 0, 2));
  world_->StartWorker(0, 1);
  world_->StartWorker(1, 1);
  world_->StartWorker(2, 0.001);
  ExpectSameAsInSequence();
  EXPECT_EQ(fewest_, 1u);
  EXPECT_GT(world_->watcher.rows_of[2], 0);
}

TEST_F(LocalStepsJob, EqualsASequentialTrainingWhateverHappens) {
  uint64_t short_rounds = 0;
  uint64_t rows_ahead = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed, Stream::kTest);
    const auto workers = static_cast<uint32_t>(2 + random.Below(4));
    Start(Options(workers, 0, seed % 3));
    world_->StartWorkers();
    // One worker is always awake.
    std::vector<WorkerBox*> seats;
    for (const auto& box : world_->workers) seats.push_back(box.get());
    std::vector<bool> awake(workers, true);
    for (uint64_t next = 1 + random.Below(3); next < 20; next += 1 + random.Below(4)) {
      ASSERT_TRUE(world_->RunUntil([&] { return rounds_ >= next || world_->result; }));
      const size_t at = random.Below(workers);
      const bool last = awake[at] && std::count(awake.begin(), awake.end(), true) == 1;
      if (seats[at] == nullptr) {
        seats[at] = &world_->StartWorker(static_cast<int32_t>(at), 0.5 + random.NextDouble());
        awake[at] = true;
      } else if (!last && random.Chance(0.5)) {
        world_->Kill(*seats[at]);
        seats[at] = nullptr;
        awake[at] = false;
      } else {
        awake[at] = last || random.Chance(0.7);
        seats[at]->device->SetSpeed(awake[at] ? 0.2 + 3 * random.NextDouble() : 1e-5);
      }
    }
    for (WorkerBox* box : seats) {
      if (box != nullptr) box->device->SetSpeed(1);
    }
    ExpectSameAsInSequence();
    short_rounds += approximated_;
    rows_ahead += rows_ahead_;
  }
  EXPECT_GT(short_rounds, 75u);
  EXPECT_GT(rows_ahead, 1000u);
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
