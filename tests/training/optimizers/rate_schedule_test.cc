// SPDX-License-Identifier: Apache-2.0
#include "training/optimizers/rate_schedule.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "training/optimizers/loss_judge.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

RateSchedule Parsed(const std::string& text) {
  const auto parsed = ParseSchedule(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  return *parsed;
}

TEST(RateSchedule, FollowsItsForm) {
  EXPECT_EQ(Parsed("constant").Factor(1000, 10), 1);
  const RateSchedule cosine = Parsed("cosine");
  EXPECT_DOUBLE_EQ(cosine.Factor(0, 100), 1);
  EXPECT_DOUBLE_EQ(cosine.Factor(50, 100), 0.5);
  EXPECT_NEAR(cosine.Factor(99, 100), (1 + std::cos(0.99 * M_PI)) / 2, 1e-12);
  EXPECT_GT(cosine.Factor(99, 100), 0);
  const RateSchedule step = Parsed("step:every=10,factor=0.5");
  EXPECT_DOUBLE_EQ(step.Factor(9, 100), 1);
  EXPECT_DOUBLE_EQ(step.Factor(10, 100), 0.5);
  EXPECT_DOUBLE_EQ(step.Factor(35, 100), 0.125);
}

TEST(RateSchedule, WarmsUp) {
  const RateSchedule schedule = Parsed("cosine:warmup=4");
  EXPECT_DOUBLE_EQ(schedule.Factor(0, 104), 0.2);
  EXPECT_DOUBLE_EQ(schedule.Factor(3, 104), 0.8);
  EXPECT_DOUBLE_EQ(schedule.Factor(4, 104), 1);
  EXPECT_DOUBLE_EQ(schedule.Factor(54, 104), 0.5);
}

TEST(RateSchedule, FollowsTheSamplesOfAnUpdate) {
  EXPECT_EQ(Parsed("cosine:warmup=4").BatchFactor(7), 1);
  const RateSchedule linear = Parsed("plateau:times=2,linear=256");
  EXPECT_EQ(linear.BatchFactor(64), 0.25);
  EXPECT_EQ(linear.BatchFactor(256), 1);
  EXPECT_EQ(linear.BatchFactor(8192), 32);
  EXPECT_EQ(linear.BatchFactor(0), 0);
  const RateSchedule root = Parsed("constant:sqrt=256,warmup=3");
  EXPECT_EQ(root.BatchFactor(64), 0.5);
  EXPECT_EQ(root.BatchFactor(1024), 2);
  EXPECT_EQ(root.Factor(0, 10), 0.25) << "the batch is no part of the step's factor";
}

TEST(RateSchedule, RefusesWhatItDoesNotKnow) {
  const std::pair<const char*, const char*> wrong[] = {
      {"cosin", "Did you mean 'cosine'?"},
      {"", "is not known"},
      {"step", "the number of steps between reductions"},
      {"step:every=0", "whole number from 1"},
      {"step:every=10,factor=1", "between 0 and 1"},
      {"cosine:every=3", "one of warmup=N, linear=N, sqrt=N"},
      {"constant:linear=0", "whole number from 1"},
      {"constant:sqrt=1.5", "whole number from 1"},
      {"constant:linear=64,sqrt=64", "Give one of linear=N and sqrt=N"},
      {"linear=256", "the form of the schedule is missing, like constant:linear=256"},
      {"warmup=5,sqrt=2", "like constant:warmup=5,sqrt=2"},
      {"constant:linear=4,linear=8", "linear is given twice"},
      {"cosine:warmup", "NAME=VALUE"},
      {"cosine:warmup=-1", "whole number"},
      {"cosine:", "NAME=VALUE"},
      {"plateau:patience=0", "whole number from 1"},
      {"plateau:times=x", "whole number"}};
  for (const auto& [text, words] : wrong) {
    const auto parsed = ParseSchedule(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.status().message(), HasSubstr(words)) << text;
  }
}

TEST(LossJudge, StopsWhenNothingIsGainedAnyMore) {
  LossJudge judge({.patience = 2, .tolerance = 0.01}, RateSchedule());
  const auto add = [&](uint64_t version, double loss) {
    judge.Hear(version, loss);
    return judge.Conclude();
  };
  EXPECT_FALSE(add(1, 1.0));
  EXPECT_FALSE(add(2, 0.995)) << "less than one part in a hundred of the first";
  EXPECT_FALSE(add(3, 0.9)) << "progress";
  EXPECT_FALSE(add(4, 0.899));
  EXPECT_TRUE(add(5, 0.898));
  EXPECT_EQ(judge.state().best_version, 5u) << "slow progress is progress of the best all the same";
}

TEST(LossJudge, GoesOnAfterAFirstLossThatIsNoNumber) {
  const JudgeOptions options{.patience = 3, .tolerance = 0.01};
  LossJudge judge(options, RateSchedule());
  EXPECT_FALSE(judge.Hear(1, std::nan("")));
  EXPECT_FALSE(judge.Conclude());
  // A checkpoint cannot store an infinite number, so the state has only finite ones.
  LossJudge again(options, RateSchedule(), judge.state());
  EXPECT_TRUE(std::isfinite(again.state().first));
  EXPECT_TRUE(again.Hear(2, 50));
  EXPECT_TRUE(again.state().progress);
  EXPECT_EQ(again.state().first, 50);
  EXPECT_TRUE(again.Hear(3, 40)) << "losses above 0 are no worse than none";
  EXPECT_TRUE(again.state().progress);
  EXPECT_EQ(again.state().best_version, 3u);
}

TEST(LossJudge, ComparesTheLastVersionWithoutJudgingByIt) {
  LossJudge judge({.patience = 2, .tolerance = 0.01}, RateSchedule());
  EXPECT_TRUE(judge.Hear(1, 5));
  judge.Conclude();
  EXPECT_FALSE(judge.Compare(2, 6));
  EXPECT_TRUE(judge.Compare(3, 4));
  EXPECT_EQ(judge.state().best_version, 3u);
  EXPECT_EQ(judge.state().idle, 0u);
  EXPECT_FALSE(judge.state().waiting);
  EXPECT_FALSE(judge.Conclude());
}

TEST(LossJudge, LowersTheRateBeforeItStops) {
  LossJudge judge({.patience = 3}, Parsed("plateau:patience=2,factor=0.1,times=1"));
  judge.Hear(1, 1);
  EXPECT_FALSE(judge.Conclude());
  for (int i = 0; i < 2; ++i) {
    EXPECT_DOUBLE_EQ(judge.rate_factor(), 1);
    judge.Hear(2, 1);
    EXPECT_FALSE(judge.Conclude());
  }
  EXPECT_DOUBLE_EQ(judge.rate_factor(), 0.1);
  for (int i = 0; i < 3; ++i) {
    judge.Hear(2, 1);
    EXPECT_EQ(judge.Conclude(), i == 2);
  }
}

TEST(LossJudge, IsIdleWhenLossesAreNoNumbers) {
  LossJudge judge({.patience = 2}, RateSchedule());
  EXPECT_FALSE(judge.Hear(1, NAN));
  EXPECT_FALSE(judge.Conclude());
  EXPECT_TRUE(judge.Hear(2, 3.0));
  EXPECT_FALSE(judge.Conclude());
  EXPECT_FALSE(judge.Hear(3, INFINITY));
  EXPECT_FALSE(judge.Conclude());
  EXPECT_FALSE(judge.Conclude()) << "nothing was heard since";
}

TEST(LossJudge, GoesOnFromItsState) {
  LossJudge whole({.patience = 4}, Parsed("plateau:patience=1")), before = whole;
  const double losses[] = {3, 2, 2, 1.5, 1.5, 1.4, 1.4, 1.4};
  for (int i = 0; i < 4; ++i) {
    before.Hear(i, losses[i]);
    before.Conclude();
  }
  LossJudge after({.patience = 4}, Parsed("plateau:patience=1"), before.state());
  for (int i = 0; i < 8; ++i) {
    whole.Hear(i, losses[i]);
    const bool stop = whole.Conclude();
    if (i < 4) continue;
    after.Hear(i, losses[i]);
    EXPECT_EQ(after.Conclude(), stop);
    EXPECT_EQ(after.rate_factor(), whole.rate_factor());
    EXPECT_EQ(after.state().best_version, whole.state().best_version);
  }
}

}  // namespace
}  // namespace motley
