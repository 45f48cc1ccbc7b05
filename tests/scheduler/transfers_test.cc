// SPDX-License-Identifier: Apache-2.0
// Tests the tracking of data that are on their way.
#include "scheduler/transfers.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

using Why = Transfers::Why;

Time At(double seconds) { return Time{} + FromSeconds(seconds); }

// True if data are in everybody's way when this step opens.
bool InTheWay(Transfers& data, StepId step) {
  data.StepOpens(step);
  return data.InTheWay();
}

TEST(Transfers, DataAreOnTheirWayUntilTheWorkerHasThem) {
  Transfers data;
  data.Sent(1, {4, 5, 6}, 3, Why::kNeeded);
  data.Sent(1, {7, 8}, 3, Why::kCopies);
  EXPECT_EQ(data.ComingTo(1).size(), 5u);
  EXPECT_EQ(data.CopiesTo(1), 2u);
  data.See(LeaseVector{1, 3, 3}, At(1));
  data.See(RowArrived{1, 5, 1}, At(1));
  EXPECT_EQ(data.ComingTo(1).size(), 5u) << "no answer shows what came";
  data.See(DataCame{1, {4, 7}}, At(2));
  EXPECT_EQ(data.ComingTo(1).size(), 3u);
  EXPECT_FALSE(data.ComingTo(1).contains(7));
  EXPECT_EQ(data.ComingTo(1).at(8), Why::kCopies);
  data.See(DataCame{1, {5, 6, 8}}, At(3));
  EXPECT_EQ(data.ComingTo(1).size(), 0u);
}

TEST(Transfers, NothingCountsThatWasNotSentToThisIncarnation) {
  Transfers data;
  data.See(DataCame{9, {1}}, At(1));
  EXPECT_EQ(data.ComingTo(9).size(), 0u);
  data.Sent(1, {4, 5}, 3, Why::kNeeded);
  data.Gone(1);
  EXPECT_EQ(data.ComingTo(1).size(), 0u);
  data.Sent(1, {6}, 3, Why::kNeeded);
  data.See(DataCame{1, {4, 5}}, At(1));
  EXPECT_EQ(data.ComingTo(1).size(), 1u);
  EXPECT_EQ(data.InFront(1), 1u);
}

TEST(Transfers, OneOfTheCopiesIsInFrontOfAMessage) {
  Transfers data;
  EXPECT_EQ(data.InFront(0), 0u);
  data.Sent(0, {1, 2, 3}, 3, Why::kCopies);
  EXPECT_EQ(data.InFront(0), 1u);
  data.Sent(0, {4, 5}, 3, Why::kNeeded);
  EXPECT_EQ(data.InFront(0), 3u);
  data.See(DataCame{0, {4, 5}}, At(1));
  EXPECT_EQ(data.InFront(0), 1u);
  data.See(DataCame{0, {1, 2, 3}}, At(1));
  EXPECT_EQ(data.InFront(0), 0u);
}

TEST(Transfers, OnlyNeededDataAreInEverybodysWay) {
  Transfers data;
  data.Sent(2, {1}, 3, Why::kCopies);
  EXPECT_FALSE(data.InTheWay());
  EXPECT_FALSE(InTheWay(data, 4));
  data.Sent(1, {1}, 4, Why::kNeeded);
  EXPECT_TRUE(data.InTheWay());
  data.See(DataCame{1, {1}}, At(1));
  EXPECT_TRUE(data.InTheWay()) << "messages of this step may have waited";
  EXPECT_FALSE(InTheWay(data, 5));
  data.Sent(1, {2}, 5, Why::kNeeded);
  EXPECT_TRUE(InTheWay(data, 6));
  data.Gone(1);
  EXPECT_FALSE(InTheWay(data, 6));
}

// A message may be the next one after the data that it waited for.
TEST(Transfers, DataDelayWhatWasUnderWayWhenTheyCame) {
  Transfers data;
  EXPECT_FALSE(data.Delayed(1, At(0)));
  data.Sent(1, {1}, 3, Why::kCopies);
  EXPECT_TRUE(data.Delayed(1, At(5)));
  EXPECT_FALSE(data.Delayed(2, At(5)));
  data.See(DataCame{1, {1}}, At(6));
  EXPECT_TRUE(data.Delayed(1, At(5)));
  EXPECT_FALSE(data.Delayed(1, At(7)));
}

TEST(Transfers, WhatShouldHaveComeIsNoLongerWaitedFor) {
  Transfers data;
  EXPECT_EQ(data.Left(1, At(0)), Duration{});
  data.Sent(1, {1, 2}, 3, Why::kNeeded, At(0), FromSeconds(10));
  EXPECT_EQ(data.Left(1, At(4)), FromSeconds(6));
  EXPECT_EQ(data.Left(1, At(11)), Duration{});
  data.See(DataCame{1, {1, 2}}, At(4));
  EXPECT_EQ(data.Left(1, At(4)), Duration{}) << "they have come";
  data.Sent(1, {3}, 4, Why::kCopies, At(10), FromSeconds(10));
  EXPECT_EQ(data.Left(1, At(4)), Duration{}) << "no work waits for copies";
}

TEST(Transfers, OverdueDataHaveNotCome) {
  Transfers data;
  data.Sent(1, {1, 2, 3}, 3, Why::kNeeded, At(0), FromSeconds(3));
  data.See(DataCame{1, {1}}, At(4));
  EXPECT_EQ(data.Left(1, At(4)), FromSeconds(2)) << "two more, each as long as predicted";
  EXPECT_EQ(data.Left(1, At(5)), FromSeconds(1));
}

// Seed 25078: a worker got leases because its data were due, although a third of them was still to
// come, over a link that was slower than the others. How long the first ones waited says nothing.
TEST(Transfers, TheRestComesAsFastAsTheDataThatCame) {
  Transfers data;
  data.Sent(1, {1, 2, 3, 4, 5}, 3, Why::kNeeded, At(10), FromSeconds(25));
  data.See(DataCame{1, {1, 2}}, At(30));
  EXPECT_EQ(data.Left(1, At(30)), FromSeconds(15)) << "each as long as predicted";
  data.See(DataCame{1, {3}}, At(31));
  data.See(DataCame{1, {4}}, At(34));
  EXPECT_EQ(data.Left(1, At(34)), FromSeconds(2));
  EXPECT_EQ(data.Left(1, At(35)), FromSeconds(1));
  EXPECT_EQ(data.Left(1, At(37)), Duration{});
  data.Sent(1, {6}, 4, Why::kNeeded, At(35), FromSeconds(1));
  EXPECT_EQ(data.Left(1, At(35)), FromSeconds(3));
  data.See(DataCame{1, {5, 6}}, At(38));
  data.Sent(1, {7, 8}, 5, Why::kNeeded, At(40), FromSeconds(1));
  EXPECT_EQ(data.Left(1, At(40)), FromSeconds(1)) << "nothing of the new data has come";
}

TEST(Transfers, WhoNeverReceivesIsForgotten) {
  Transfers data;
  data.Sent(2, {1, 2}, 3, Why::kNeeded);
  EXPECT_TRUE(InTheWay(data, 20));
  EXPECT_FALSE(InTheWay(data, 200));
}

}  // namespace
}  // namespace motley
