// SPDX-License-Identifier: Apache-2.0
// Tests the tracking of data that are on their way.
#include "scheduler/learned/data_watch.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

using Why = DataWatch::Why;

TEST(DataWatch, AWholeAnswerShowsThatWhatItNeededCame) {
  DataWatch data;
  data.Sent(1, 5, 3, Why::kNeeded);
  EXPECT_EQ(data.OnTheirWay(1), 5u);
  data.Began(1, 3);
  data.Answered(1, 2);
  EXPECT_EQ(data.OnTheirWay(1), 5u) << "a late answer shows nothing, nor does a begun one";
  data.Answered(1, 3);
  EXPECT_EQ(data.OnTheirWay(1), 0u);
}

TEST(DataWatch, OnlyAnswersOfALaterStepShowThatCopiesCame) {
  DataWatch data;
  data.Sent(0, 5, 3, Why::kNeeded);
  data.Sent(0, 2, 3, Why::kCopies);
  data.Answered(0, 3);
  EXPECT_EQ(data.OnTheirWay(0), 7u);
  data.Began(0, 5);
  EXPECT_EQ(data.OnTheirWay(0), 0u) << "its parameters came behind them";
}

TEST(DataWatch, FewCopiesAreInNobodyElsesWay) {
  DataWatch data;
  data.Sent(2, 1, 3, Why::kFew);
  EXPECT_FALSE(data.InTheWay(4));
  EXPECT_EQ(data.OnTheirWay(2), 1u);
  data.Sent(1, 1, 3, Why::kCopies);
  EXPECT_TRUE(data.InTheWay(4));
  data.Gone(1);
  EXPECT_FALSE(data.InTheWay(4));
}

TEST(DataWatch, WhatShouldHaveComeIsNoLongerWaitedFor) {
  DataWatch data;
  const Time sent{};
  const auto after = [&](double seconds) { return sent + FromSeconds(seconds); };
  EXPECT_EQ(data.Left(1, sent), Duration{});
  data.Sent(1, 5, 3, Why::kFew, after(10));
  EXPECT_EQ(data.Left(1, after(4)), FromSeconds(6));
  EXPECT_EQ(data.Left(1, after(11)), Duration{});
  data.Answered(1, 4);
  EXPECT_EQ(data.Left(1, after(4)), Duration{}) << "they are known to have come";
}

TEST(DataWatch, WhoNeverAnswersIsForgotten) {
  DataWatch data;
  data.Sent(2, 8, 3, Why::kNeeded);
  EXPECT_TRUE(data.InTheWay(20));
  EXPECT_FALSE(data.InTheWay(200));
}

}  // namespace
}  // namespace motley
