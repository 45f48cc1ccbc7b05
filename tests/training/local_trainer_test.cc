// SPDX-License-Identifier: Apache-2.0
// Local steps against a loop in double precision over the samples of each step.
#include "training/trainers/local_trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tests/training/reference.h"
#include "tests/training/test_data.h"
#include "training/optimizers/optimizer_rule.h"

namespace motley {
namespace {

constexpr uint64_t kRounds = 20;

// A round of 60 of 300 samples in 5 partitions, of which this worker may have any.
class LocalTrainer : public testing::Test {
 protected:
  LocalTrainer() {
    uint32_t start = 0;
    for (PartitionId p = 0; p < sizes_.size(); ++p) {
      store_[p] = std::make_shared<MemorySource>(Select(data_, Iota(start, start + sizes_[p])));
      start += sizes_[p];
    }
    std::fill(parameters_.begin(), parameters_.end(), 0.1f);
  }

  void Make(const std::string& optimizer, const std::string& schedule = "constant") {
    how_.optimizer = UsualOptions(optimizer);
    how_.optimizer.learning_rate = 0.1;
    how_.optimizer.schedule = schedule;
    how_.batch = 12;
    trainer_ = *MakeLocalTrainer(
        rig_.loop, *rig_.device,
        MakeModelTrainer(rig_.loop, *rig_.device, *model_, store_, schedule_), how_, kRounds);
    velocity_.assign(parameters_.size(), 0.0);
  }

  Result<Trainer::Outcome> Accumulate(StepId round, const std::vector<PartitionTerm>& terms,
                                      std::vector<float>& sum,
                                      std::shared_ptr<std::atomic<bool>> cancel = nullptr,
                                      bool ahead = false) {
    std::optional<Result<Trainer::Outcome>> outcome;
    GradientWork work{.step = round, .parameters = parameters_, .terms = terms, .sum = sum};
    work.ahead = ahead;
    work.progress = [&, cancel](uint64_t samples) {
      EXPECT_GE(samples, progress_);
      progress_ = samples;
      if (samples >= cancel_at_) *cancel = true;
    };
    progress_ = 0;
    trainer_->Accumulate(std::move(work), cancel,
                         [&](Result<Trainer::Outcome> got) { outcome = std::move(got); });
    rig_.loop.RunUntil([] { return false; });
    return outcome.value();
  }

  // The samples of partitions [begin, end) in step `turn` of `turns` of a round.
  std::vector<uint32_t> Rows(StepId round, PartitionId begin, PartitionId end, uint32_t turn,
                             uint32_t turns) const {
    std::vector<uint32_t> rows;
    const std::vector<uint32_t> all = schedule_.Rows(round);
    for (size_t rank = turn; rank < all.size(); rank += turns) {
      const uint64_t first = schedule_.first_sample(begin);
      const uint64_t last = schedule_.first_sample(end - 1) + sizes_[end - 1];
      if (all[rank] >= first && all[rank] < last) rows.push_back(all[rank]);
    }
    return rows;
  }

  // What the answer should be, by gradient descent with momentum; 0: without. The first `ahead`
  // steps are taken from where the last round ended.
  std::vector<double> Wanted(StepId round, PartitionId begin, PartitionId end, uint32_t turns,
                             double rate, double momentum, Tally& tally, uint32_t ahead) {
    const std::vector<double> start(parameters_.begin(), parameters_.end());
    std::vector<double> now = ahead > 0 ? own_ : start;
    for (uint32_t turn = 0; turn < turns; ++turn) {
      for (size_t i = 0; turn > 0 && turn == ahead && i < now.size(); ++i) {
        now[i] += start[i] - own_[i];
      }
      const std::vector<uint32_t> rows = Rows(round, begin, end, turn, turns);
      std::vector<double> gradient(now.size(), 0.0);
      tally.loss += reference::LossAndGradient(model_->spec(), now, Select(data_, rows), gradient);
      tally.weight += static_cast<double>(rows.size());
      for (size_t i = 0; i < now.size(); ++i) {
        const double mean = rows.empty() ? 0 : gradient[i] / static_cast<double>(rows.size());
        velocity_[i] = momentum * velocity_[i] + mean;
        const double scale = linear_ > 0 ? static_cast<double>(rows.size()) / linear_ : 1;
        now[i] -= rate * scale * velocity_[i];
      }
    }
    own_ = now;
    std::vector<double> answer(start.size());
    for (size_t i = 0; i < start.size(); ++i) answer[i] = tally.weight.real() * (start[i] - now[i]);
    return answer;
  }

  // `ordered`: the order says that the steps ahead count. `ahead`: so many do.
  void ExpectRound(StepId round, PartitionId begin, PartitionId end, double rate, double momentum,
                   bool ordered = false, uint32_t ahead = 0) {
    const std::vector<PartitionTerm> terms{{begin, end, 1.0}};
    std::vector<float> sum(VectorLength(parameters_.size()), 0.0f);
    const uint64_t samples = trainer_->Samples(round, terms);
    const auto got = Accumulate(round, terms, sum, nullptr, ordered);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    Tally tally;
    const uint32_t turns = LocalStepCount(samples, how_.batch);
    const std::vector<double> wanted =
        Wanted(round, begin, end, turns, rate, momentum, tally, ahead);
    EXPECT_EQ(got->samples, samples);
    EXPECT_EQ(progress_, samples);
    EXPECT_DOUBLE_EQ(got->tally.weight.real(), static_cast<double>(samples));
    EXPECT_NEAR(got->tally.loss.real(), tally.loss.real(), 1e-4 * tally.loss.real());
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_NEAR(sum[i], wanted[i], 2e-5 * static_cast<double>(samples)) << i;
    }
  }

  // The next round has another version.
  void Move() {
    for (size_t i = 0; i < parameters_.size(); ++i) parameters_[i] += i % 3 == 0 ? 0.05f : -0.02f;
  }

  // Begins ahead with a round of partitions [begin, end). `waits`: until all steps are taken.
  void GoAhead(StepId round, PartitionId begin, PartitionId end, bool waits = true) {
    const std::vector<PartitionTerm> terms{{begin, end, 1.0}};
    trainer_->GoAhead(round, terms, [this](const Result<Trainer::Outcome>& got) {
      ++ends_;
      ahead_status_ = got.status();
    });
    if (waits) rig_.loop.RunUntil([] { return false; });
  }

  TestRig rig_;
  Dataset data_ = MakeSamples(6, 3, false, 300, 2);
  std::vector<uint32_t> sizes_ = {60, 100, 0, 20, 120};
  BatchSchedule schedule_{7, sizes_, 60};
  PartitionStore store_;
  std::unique_ptr<Model> model_ = MakeModel({"mlp:5", 6, 3});
  std::vector<float> parameters_ = std::vector<float>(model_->parameter_count());
  LocalSteps how_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<double> velocity_;
  std::vector<double> own_;  // The parameters at the end of the last round.
  int ends_ = 0;             // Ends of GoAhead, and the last one's status.
  Status ahead_status_;
  double linear_ = 0;  // The samples of a step for which the rate is right; 0: any.
  uint64_t progress_ = 0;
  uint64_t cancel_at_ = UINT64_MAX;
};

TEST_F(LocalTrainer, StepsAreInProportionToSamples) {
  EXPECT_EQ(LocalStepCount(0, 12), 1u);
  EXPECT_EQ(LocalStepCount(5, 12), 1u);
  EXPECT_EQ(LocalStepCount(29, 12), 2u);
  EXPECT_EQ(LocalStepCount(30, 12), 3u);
  EXPECT_EQ(LocalStepCount(uint64_t{1} << 40, 12), kMostTurns);
}

TEST_F(LocalTrainer, TheStepsOfARoundUseEachSampleOnce) {
  for (const uint32_t turns : {1U, 2U, 5U, 7U, 60U}) {
    std::vector<uint32_t> used;
    for (uint32_t turn = 0; turn < turns; ++turn) {
      const StepId name = TurnOf(3, turn, turns);
      EXPECT_EQ(WholeStep(name), 3u);
      const StepBatch batch = schedule_.At(name);
      uint32_t before = 0;
      const std::vector<BatchSchedule::Range> ranges = schedule_.Ranges(name);
      for (PartitionId p = 0; p < sizes_.size(); ++p) {
        ASSERT_EQ(ranges[p].begin, before);
        before = ranges[p].end();
        for (uint32_t rank = ranges[p].begin; rank < ranges[p].end(); ++rank) {
          ASSERT_GE(batch.Sample(rank), schedule_.first_sample(p));
          ASSERT_LT(batch.Sample(rank), schedule_.first_sample(p) + sizes_[p]);
          used.push_back(static_cast<uint32_t>(batch.Sample(rank)));
        }
      }
      EXPECT_EQ(before, batch.size());
      EXPECT_EQ(batch.size(), (60 + turns - 1 - turn) / turns);
    }
    std::sort(used.begin(), used.end());
    EXPECT_EQ(used, schedule_.Rows(3)) << turns;
  }
}

TEST_F(LocalTrainer, TheAnswerIsWhatTheStepsChanged) {
  Make("sgd");
  ExpectRound(0, 0, 5, 0.1, 0);
  ExpectRound(1, 1, 2, 0.1, 0);
  ExpectRound(6, 3, 4, 0.1, 0);
}

TEST_F(LocalTrainer, TheOptimizerGoesOnFromRoundToRound) {
  Make("momentum");
  for (StepId round = 0; round < 8; ++round) {
    ExpectRound(round, round % 2 == 0 ? 0 : 1, 5, 0.1, how_.optimizer.momentum);
  }
}

TEST_F(LocalTrainer, TheScheduleFollowsTheRounds) {
  Make("sgd", "step:every=2,factor=0.5");
  ExpectRound(1, 0, 5, 0.1, 0);
  ExpectRound(2, 0, 5, 0.05, 0);
}

TEST_F(LocalTrainer, TheRateFollowsTheSamplesOfEachStep) {
  Make("momentum", "constant:linear=16");
  linear_ = 16;
  ExpectRound(0, 0, 5, 0.1, how_.optimizer.momentum);
  ExpectRound(1, 1, 2, 0.1, how_.optimizer.momentum);
  ExpectRound(2, 3, 4, 0.1, how_.optimizer.momentum);
}

TEST_F(LocalTrainer, ACancelledRoundLeavesNoTrace) {
  Make("momentum");
  ExpectRound(0, 0, 5, 0.1, how_.optimizer.momentum);
  cancel_at_ = 30;
  std::vector<float> sum(VectorLength(parameters_.size()), 0.0f);
  const auto got = Accumulate(1, {{0, 5, 1.0}}, sum, std::make_shared<std::atomic<bool>>(false));
  EXPECT_EQ(got.code(), StatusCode::kCancelled);
  EXPECT_EQ(sum, std::vector<float>(sum.size(), 0.0f));
  cancel_at_ = UINT64_MAX;
  ExpectRound(2, 0, 5, 0.1, how_.optimizer.momentum);
}

TEST_F(LocalTrainer, WithoutSamplesNothingChanges) {
  Make("sgd");
  ExpectRound(0, 2, 3, 0.1, 0);
}

// The partitions have 12, 20, 0, 4 and 24 samples of a round, or one more or less.
TEST_F(LocalTrainer, StepsAheadCountInTheNextRound) {
  how_.ahead = 2;
  Make("momentum");
  ExpectRound(0, 0, 5, 0.1, how_.optimizer.momentum);
  for (StepId round = 1; round < 8; ++round) {
    GoAhead(round, 0, 5, /*waits=*/round % 2 == 0);
    Move();
    ExpectRound(round, 0, 5, 0.1, how_.optimizer.momentum, true, 2);
    EXPECT_EQ(ends_, static_cast<int>(round));
    EXPECT_TRUE(ahead_status_.ok());
  }
}

TEST_F(LocalTrainer, TheLastStepOfARoundIsNotTakenAhead) {
  how_.ahead = 100;
  Make("momentum");
  ExpectRound(0, 0, 5, 0.1, how_.optimizer.momentum);
  GoAhead(1, 0, 5);
  Move();
  ExpectRound(1, 0, 5, 0.1, how_.optimizer.momentum, true, 4);
  ExpectRound(2, 3, 4, 0.1, how_.optimizer.momentum);  // One step.
  GoAhead(3, 3, 4);
  Move();
  ExpectRound(3, 3, 4, 0.1, how_.optimizer.momentum, true, 0);
}

// The round is ordered without them, for the same partitions or others, or another round is, after
// they are taken or before.
TEST_F(LocalTrainer, StepsAheadThatDoNotCountLeaveNoTrace) {
  how_.ahead = 3;
  Make("momentum");
  ExpectRound(0, 0, 5, 0.1, how_.optimizer.momentum);
  StepId round = 1;
  for (const bool waits : {true, false}) {
    GoAhead(round, 0, 5, waits);
    Move();
    ExpectRound(round, 0, 5, 0.1, how_.optimizer.momentum);
    EXPECT_EQ(ahead_status_.code(), waits ? StatusCode::kOk : StatusCode::kCancelled);
    GoAhead(++round, 0, 5, waits);
    Move();
    ExpectRound(round, 1, 5, 0.1, how_.optimizer.momentum);
    GoAhead(++round, 1, 5, waits);
    ExpectRound(++round, 1, 5, 0.1, how_.optimizer.momentum, true, 0);
    GoAhead(++round, 1, 5, waits);
    trainer_->LetGo();
    ExpectRound(round++, 1, 5, 0.1, how_.optimizer.momentum, true, 0);
  }
  EXPECT_EQ(ends_, 8);
}

TEST_F(LocalTrainer, StepsAheadMayBeDroppedAtAnyMoment) {
  how_.ahead = 2;
  for (int moment = 0; moment < 40; ++moment) {
    SCOPED_TRACE(moment);
    Make("momentum");
    ExpectRound(0, 0, 5, 0.1, how_.optimizer.momentum);
    GoAhead(1, 0, 5, /*waits=*/false);
    rig_.loop.RunUntil([left = moment]() mutable { return left-- <= 0; });
    Move();
    ExpectRound(1, 1, 5, 0.1, how_.optimizer.momentum);
  }
}

TEST_F(LocalTrainer, ACancelledRoundTakesItsStepsAheadWithIt) {
  how_.ahead = 3;
  Make("momentum");
  for (const bool waits : {true, false}) {
    ExpectRound(0, 0, 5, 0.1, how_.optimizer.momentum);
    GoAhead(1, 0, 5, waits);
    cancel_at_ = 30;
    std::vector<float> sum(VectorLength(parameters_.size()), 0.0f);
    const auto got =
        Accumulate(1, {{0, 5, 1.0}}, sum, std::make_shared<std::atomic<bool>>(false), true);
    EXPECT_EQ(got.code(), StatusCode::kCancelled);
    EXPECT_EQ(sum, std::vector<float>(sum.size(), 0.0f));
    cancel_at_ = UINT64_MAX;
  }
  ExpectRound(2, 0, 5, 0.1, how_.optimizer.momentum);
}

TEST_F(LocalTrainer, NoStepsAheadFollowOneThatFailedOrTheLastRound) {
  how_.ahead = 3;
  Make("momentum");
  GoAhead(0, 0, 5);  // No round has ended.
  ExpectRound(0, 0, 5, 0.1, how_.optimizer.momentum, true, 0);
  GoAhead(2, 0, 5);  // Round 1 has not ended.
  ExpectRound(2, 0, 5, 0.1, how_.optimizer.momentum, true, 0);
  ExpectRound(kRounds - 1, 0, 5, 0.1, how_.optimizer.momentum);
  GoAhead(kRounds, 0, 5);
  ExpectRound(kRounds - 1, 0, 5, 0.1, how_.optimizer.momentum);
  EXPECT_EQ(ends_, 3);
}

}  // namespace
}  // namespace motley
