// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/deadline.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace motley {
namespace {

// Adds `count` answers of about `ratio` times the expected second.
void Feed(DeadlineModel& model, double ratio, double noise, int count) {
  Random random(1, Stream::kTest);
  for (int i = 0; i < count; ++i) {
    const double factor = ratio * (1 + noise * random.Normal());
    model.AddArrival(FromSeconds(factor), 1, 0);
  }
}

TEST(Deadline, WindowForgetsTheOldest) {
  RobustWindow window(4);
  EXPECT_EQ(window.Limit(3), 0);
  for (const double value : {100, 100, 100, 100, 1, 1, 1, 3}) window.Add(value);
  EXPECT_EQ(window.count(), 4u);
  EXPECT_EQ(window.Limit(3), 1);
}

TEST(Deadline, WindowAddsDeviationsToTheMedian) {
  RobustWindow window(10);
  for (const double value : {1, 2, 3, 4, 100}) window.Add(value);
  EXPECT_EQ(window.Limit(0), 3);
  EXPECT_EQ(window.Limit(2), 5);
}

TEST(Deadline, IsGenerousWhileLittleIsKnown) {
  DeadlineModel model;
  EXPECT_GE(ToSeconds(model.Limit(0.1, 0)), 1);
  EXPECT_GE(ToSeconds(model.Limit(10, 0)), 40);
  EXPECT_GE(ToSeconds(model.Limit(0, 0)), 1);
  EXPECT_GT(model.Limit(0.1, 5), model.Limit(0.1, 0));
}

// After another code, the time of answers on the links is known.
TEST(Deadline, WhatAnswersTakeBesidesCountsUntilItIsLearned) {
  DeadlineModel model;
  EXPECT_GE(ToSeconds(model.Limit(0.01, 0, 10)), 40);
  Feed(model, 1.0, 0.0, 30);
  EXPECT_EQ(model.Limit(1, 0, 10), model.Limit(1, 0));
}

TEST(Deadline, SaysWhatSendingDataTakesOnceItWasSeen) {
  DeadlineModel model;
  EXPECT_FALSE(model.KnowsTransfers());
  EXPECT_EQ(model.TransferSeconds(5), 0);
  for (const double seconds : {3.0, 5.0, 9.0}) model.AddArrival(FromSeconds(seconds), 1, 2);
  EXPECT_TRUE(model.KnowsTransfers());
  EXPECT_NEAR(model.TransferSeconds(5), 10, 1e-6) << "two seconds each, mostly";
}

TEST(Deadline, IsTightAroundSteadyArrivalsButNeverBelowTheFloor) {
  DeadlineModel model;
  Feed(model, 1.0, 0.0, 30);
  EXPECT_NEAR(ToSeconds(model.Limit(1, 0)), 1.55, 1e-6);
  EXPECT_NEAR(ToSeconds(model.Limit(0.01, 0)), 0.065, 1e-6);
}

TEST(Deadline, LearnsOverheadsThatSpeedsDoNotShow) {
  DeadlineModel model;
  Feed(model, 4.0, 0.05, 100);
  const double limit = ToSeconds(model.Limit(1, 0));
  EXPECT_GT(limit, 4.0);
  EXPECT_LT(limit, 7.0);
}

TEST(Deadline, IsNotPulledAwayByAFewStragglers) {
  DeadlineModel model;
  Feed(model, 1.0, 0.02, 100);
  const Duration before = model.Limit(1, 0);
  Feed(model, 50.0, 0.1, 20);
  EXPECT_LT(ToSeconds(model.Limit(1, 0)), 2 * ToSeconds(before));
}

TEST(Deadline, TransfersAreAllowedWhatTransfersTook) {
  DeadlineModel model;
  Feed(model, 1.0, 0.0, 30);
  for (int i = 0; i < 30; ++i) model.AddArrival(FromSeconds(1 + 10 * 0.2), 1, 10);
  const double limit = ToSeconds(model.Limit(1, 10));
  EXPECT_GE(limit, 1.5 + 10 * 0.2);
  EXPECT_LE(limit, 1.5 + 10 * 0.2 * 2);
  EXPECT_NEAR(ToSeconds(model.Limit(1, 0)), 1.55, 1e-6) << "answers without transfers are apart";
}

TEST(Deadline, AFewTransfersSayMoreThanNone) {
  DeadlineModel model;
  Feed(model, 1.0, 0.0, 30);
  EXPECT_GE(ToSeconds(model.Limit(1, 2)), 1.55 + 2) << "none was seen";
  model.AddArrival(FromSeconds(1 + 16 * 0.001), 1, 16);
  EXPECT_NEAR(ToSeconds(model.Limit(1, 2)), 1.55 + 0.05 + 4 * 2 * 0.001, 1e-6);
  model.AddArrival(FromSeconds(1 + 16 * 0.5), 1, 16);
  EXPECT_GE(ToSeconds(model.Limit(1, 2)), 1.55 + 4 * 2 * 0.5) << "the slowest one counts";
}

// The test reads the limit in between, as the scheduler does, because the model caches it.
TEST(Deadline, FollowsWhatComesAfterItWasAskedFor) {
  DeadlineModel model;
  Feed(model, 1.0, 0.0, 8);
  EXPECT_NEAR(ToSeconds(model.Limit(1, 0)), 1.55, 1e-6);
  Feed(model, 4.0, 0.02, 128);
  EXPECT_GT(ToSeconds(model.Limit(1, 0)), 4);
  RobustWindow window(4);
  for (const double value : {1, 2, 1, 2}) window.Add(value);
  const double before = window.Limit(1);
  for (const double value : {10, 20, 10, 20}) window.Add(value);
  EXPECT_GT(window.Limit(1), 2 * before);
}

TEST(Deadline, AbsurdExpectationsStayFinite) {
  DeadlineModel model;
  EXPECT_LE(ToSeconds(model.Limit(1e300, 1000000)), 86400);
}

}  // namespace
}  // namespace motley
