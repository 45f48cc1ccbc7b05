// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

using ::testing::HasSubstr;
using Kind = ReduceReason::Kind;

constexpr double kGigabit = 125e6;

ReduceRequest Of(const std::vector<double>& workers, double server, uint64_t floats) {
  ReduceRequest request;
  for (const double rate : workers) request.exchange.workers.push_back({rate, rate});
  request.exchange.bytes = 4.0 * static_cast<double>(floats);
  request.exchange.streams = true;
  request.coordinator = {server, server};
  request.floats = floats;
  request.latency_seconds = 200e-6;
  return request;
}

ReduceChoice Choose(const ReduceRequest& request) {
  const Result<ReduceChoice> choice = ChooseReduction(request);
  EXPECT_TRUE(choice.ok()) << choice.status().ToString();
  return choice.ok() ? *choice : ReduceChoice{};
}

TEST(ReduceMode, IsReadAndWritten) {
  for (const char* text : {"auto", "star", "sharded:1", "sharded:16", "direct"}) {
    const Result<ReduceMode> mode = ParseReduce(text);
    ASSERT_TRUE(mode.ok()) << text;
    EXPECT_EQ(NameOf(*mode), text);
  }
  for (const char* text : {"", "ring", "sharded", "sharded:", "sharded:0", "sharded:2x",
                           "sharded:65", "sharded:-1", "Direct"}) {
    EXPECT_EQ(ParseReduce(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(ParseReduce("sharded:x").status().message(), HasSubstr("sharded:4"));
}

TEST(Reduction, LongVectorsAreSummedByTheWorkers) {
  const ReduceRequest request = Of({kGigabit, kGigabit, kGigabit, kGigabit}, kGigabit, 25'000'000);
  const ReduceChoice choice = Choose(request);
  EXPECT_EQ(choice.kind, Reduce::kDirect);
  EXPECT_EQ(choice.reason.kind, Kind::kFaster);
  ASSERT_EQ(choice.ranges.size(), 4);
  for (const ShardRange& range : choice.ranges) EXPECT_EQ(range.size(), 6'250'000);
  EXPECT_NEAR(choice.cost.exchange.total, 1.5 * 0.8, 1e-3);
  EXPECT_NEAR(choice.reason.star.exchange.total, 4 * 0.8, 1e-3);
  EXPECT_FALSE(choice.reason.narrowest.has_value());
}

TEST(Reduction, ServersOwnEqualRangesWhereMeasurementsDifferLittle) {
  ReduceRequest request = Of({kGigabit, kGigabit, kGigabit}, kGigabit, 25'000'000);
  request.mode = {Reduce::kSharded, 2};
  request.exchange.streams = false;
  request.exchange.servers = {{kGigabit, kGigabit}, {1.08 * kGigabit, 1.08 * kGigabit}};
  request.exchange.may_own = {true, true, false};
  request.equal_within = 0.1;
  ReduceChoice choice = Choose(request);
  EXPECT_EQ(choice.kind, Reduce::kSharded);
  ASSERT_EQ(choice.ranges.size(), 2);
  EXPECT_EQ(choice.ranges[0], (ShardRange{3, 0, 12'500'000}));
  EXPECT_EQ(choice.ranges[1].owner, 4);
  request.exchange.servers[1] = {2 * kGigabit, 2 * kGigabit};
  choice = Choose(request);
  EXPECT_GT(choice.ranges[1].size(), choice.ranges[0].size());
}

TEST(Reduction, ShortVectorsStayWithTheStar) {
  // 8 kB are shorter than the least range, so a single worker would own them.
  ReduceRequest request = Of(std::vector<double>(8, kGigabit), kGigabit, 2000);
  EXPECT_EQ(Choose(request).kind, Reduce::kStar);
  // Two ways take the star 0.4 ms, its 16 messages 0.32 ms, and its bytes 1.3 ms. The workers need
  // 0.3 ms for the bytes, and 28 messages.
  request = Of(std::vector<double>(8, kGigabit), kGigabit, 5000);
  request.rules.least = 100;
  request.message_seconds = 100e-6;
  const ReduceChoice choice = Choose(request);
  EXPECT_EQ(choice.kind, Reduce::kStar);
  EXPECT_EQ(choice.reason.kind, Kind::kMessages);
  EXPECT_LT(choice.reason.other.exchange.total, choice.reason.star.exchange.total);
  EXPECT_NEAR(choice.cost.messages, 0.4e-3 + 16 * 100e-6, 1e-9);
  EXPECT_NEAR(choice.reason.other.messages, 0.4e-3 + 28 * 100e-6, 1e-9);
  request.message_seconds = 1e-6;
  EXPECT_EQ(Choose(request).kind, Reduce::kDirect);
}

TEST(Reduction, AWideServerKeepsTheVector) {
  const ReduceChoice choice = Choose(Of(std::vector<double>(6, kGigabit), 10 * kGigabit, 1 << 24));
  EXPECT_EQ(choice.kind, Reduce::kStar);
  EXPECT_EQ(choice.reason.kind, Kind::kNoGain);
  EXPECT_EQ(choice.reason.narrowest, 0);
}

TEST(Reduction, AServerHelpsTheWorkersIfItMayOwnARange) {
  ReduceRequest request = Of(std::vector<double>(4, kGigabit), kGigabit, 1 << 24);
  request.exchange.servers = {request.coordinator};
  const ReduceChoice choice = Choose(request);
  EXPECT_EQ(choice.kind, Reduce::kDirect);
  ASSERT_EQ(choice.ranges.size(), 5);
  EXPECT_EQ(choice.ranges.back().owner, 4);
  const double seconds = 4.0 * (1 << 24) / kGigabit;
  EXPECT_NEAR(choice.cost.exchange.total, 24.0 / 18 * seconds, 1e-3 * seconds);
}

TEST(Reduction, ServersCarryTheVectorWhereTheyAreWide) {
  ReduceRequest request = Of(std::vector<double>(8, kGigabit), kGigabit, 1 << 24);
  request.exchange.servers = std::vector<NodeLink>(8, {kGigabit, kGigabit});
  const ReduceChoice choice = Choose(request);
  EXPECT_EQ(choice.kind, Reduce::kSharded);
  EXPECT_EQ(choice.ranges.size(), 8);
  EXPECT_NEAR(choice.cost.exchange.total, 4.0 * (1 << 24) / kGigabit, 1e-6);
}

TEST(Reduction, AStarBesideAWorkerCarriesOneVectorLess) {
  ReduceRequest request = Of({kGigabit, kGigabit, kGigabit}, kGigabit, 1 << 20);
  request.mode = {Reduce::kStar};
  const double apart = Choose(request).cost.exchange.total;
  request.beside = 1;
  const ReduceChoice choice = Choose(request);
  EXPECT_EQ(choice.reason.kind, Kind::kAsked);
  EXPECT_NEAR(choice.cost.exchange.total, apart * 2 / 3, 1e-9);
}

TEST(Reduction, WithoutStreamsTheCommitTakesTwoMoreWays) {
  ReduceRequest request = Of(std::vector<double>(4, kGigabit), kGigabit, 1 << 24);
  request.message_seconds = 0;
  EXPECT_NEAR(Choose(request).cost.messages, 0.4e-3, 1e-9);
  request.exchange.streams = false;
  const ReduceChoice choice = Choose(request);
  EXPECT_EQ(choice.kind, Reduce::kDirect);
  EXPECT_NEAR(choice.cost.messages, 0.8e-3, 1e-9);
  EXPECT_NEAR(choice.reason.star.messages, 0.4e-3, 1e-9);
  const double star = choice.reason.star.exchange.total;
  EXPECT_NEAR(star / choice.cost.exchange.total, 16 / 3.0, 1e-3);
  // Nobody follows a star.
  request.exchange.followers = 1;
  EXPECT_EQ(Choose(request).reason.star.exchange.total, star);
  EXPECT_NEAR(star / Choose(request).cost.exchange.total, 8 / 1.75, 1e-3);
}

TEST(Reduction, DoesWhatItIsAsked) {
  ReduceRequest request = Of({kGigabit, kGigabit}, 0, 1 << 20);
  request.mode = {Reduce::kDirect};
  EXPECT_EQ(Choose(request).kind, Reduce::kDirect);
  EXPECT_EQ(Choose(request).reason.kind, Kind::kAsked);
  request.mode = {Reduce::kSharded, 2};
  EXPECT_EQ(ChooseReduction(request).status().code(), StatusCode::kInvalidArgument);
  request.exchange.servers = {{}, {}};
  EXPECT_EQ(Choose(request).kind, Reduce::kSharded);
  EXPECT_EQ(Choose(request).ranges.size(), 2);
}

TEST(Reduction, ALateWorkerOwnsNothing) {
  ReduceRequest request = Of(std::vector<double>(4, kGigabit), kGigabit, 1 << 24);
  request.exchange.may_own = {true, true, false, true};
  for (const ShardRange& range : Choose(request).ranges) EXPECT_NE(range.owner, 2);
}

}  // namespace
}  // namespace motley
