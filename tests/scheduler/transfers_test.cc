// SPDX-License-Identifier: Apache-2.0
// Tests the tracking of data that are on their way.
#include "scheduler/transfers.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

using Why = Transfers::Why;

// True if data are in everybody's way when this step opens.
bool InTheWay(Transfers& data, StepId step) {
  data.StepOpens(step);
  return data.InTheWay();
}

TEST(Transfers, AWholeAnswerShowsThatWhatItNeededCame) {
  Transfers data;
  data.Sent(1, 5, 3, Why::kNeeded);
  EXPECT_EQ(data.OnTheirWay(1), 5u);
  data.Began(1, 3);
  data.Answered(1, 2);
  EXPECT_EQ(data.OnTheirWay(1), 5u) << "a late answer shows nothing, nor does a begun one";
  data.Answered(1, 3);
  EXPECT_EQ(data.OnTheirWay(1), 0u);
}

TEST(Transfers, OnlyAnswersOfALaterStepShowThatCopiesCame) {
  Transfers data;
  data.Sent(0, 5, 3, Why::kNeeded);
  data.Sent(0, 2, 3, Why::kCopies);
  data.Answered(0, 3);
  EXPECT_EQ(data.OnTheirWay(0), 7u);
  data.Began(0, 5);
  EXPECT_EQ(data.OnTheirWay(0), 0u) << "its parameters came behind them";
}

TEST(Transfers, FewCopiesAreInNobodyElsesWay) {
  Transfers data;
  data.Sent(2, 1, 3, Why::kFew);
  EXPECT_FALSE(InTheWay(data, 4));
  EXPECT_EQ(data.OnTheirWay(2), 1u);
  data.Sent(1, 1, 3, Why::kCopies);
  EXPECT_TRUE(InTheWay(data, 4));
  data.Gone(1);
  EXPECT_FALSE(InTheWay(data, 4));
}

TEST(Transfers, WhatShouldHaveComeIsNoLongerWaitedFor) {
  Transfers data;
  const Time sent{};
  const auto after = [&](double seconds) { return sent + FromSeconds(seconds); };
  EXPECT_EQ(data.Left(1, sent), Duration{});
  data.Sent(1, 5, 3, Why::kFew, after(10));
  EXPECT_EQ(data.Left(1, after(4)), FromSeconds(6));
  EXPECT_EQ(data.Left(1, after(11)), Duration{});
  data.Answered(1, 4);
  EXPECT_EQ(data.Left(1, after(4)), Duration{}) << "they are known to have come";
}

TEST(Transfers, WhoNeverAnswersIsForgotten) {
  Transfers data;
  data.Sent(2, 8, 3, Why::kNeeded);
  EXPECT_TRUE(InTheWay(data, 20));
  EXPECT_FALSE(InTheWay(data, 200));
}

}  // namespace
}  // namespace motley
