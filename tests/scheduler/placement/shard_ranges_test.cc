// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/shard_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

using ::testing::ElementsAre;

TEST(ShardRanges, FollowTheShares) {
  EXPECT_THAT(RangesFor({0.5, 0.3, 0, 0.2}, 100, {.least = 2}),
              ElementsAre(ShardRange{0, 0, 50}, ShardRange{1, 50, 80}, ShardRange{3, 80, 100}));
}

TEST(ShardRanges, ANodeWithTooLittleOwnsNothing) {
  EXPECT_THAT(RangesFor({0.5, 0.45, 0.05}, 100, {.least = 10}),
              ElementsAre(ShardRange{0, 0, 52}, ShardRange{1, 52, 100}));
  // The least size itself is enough.
  EXPECT_THAT(RangesFor({0.88, 0.06, 0.06}, 100, {.least = 6}).size(), 3);
  EXPECT_THAT(RangesFor({0.5, 0.2, 0.16, 0.14}, 24, {.least = 4}),
              ElementsAre(ShardRange{0, 0, 14}, ShardRange{1, 14, 20}, ShardRange{2, 20, 24}));
  // Too short a vector has one owner.
  EXPECT_THAT(RangesFor({0.2, 0.5, 0.3}, 100), ElementsAre(ShardRange{1, 0, 100}));
  EXPECT_THAT(RangesFor({0.4, 0.6}, 1), ElementsAre(ShardRange{1, 0, 1}));
}

TEST(ShardRanges, AreNoMoreThanAllowed) {
  EXPECT_THAT(RangesFor({0.3, 0.1, 0.4, 0.2}, 1000, {.least = 2, .most_ranges = 2}),
              ElementsAre(ShardRange{0, 0, 428}, ShardRange{2, 428, 1000}));
}

TEST(ShardRanges, CoverTheVectorAndStayNearTheShares) {
  Random random(1, Stream::kSimulation);
  for (int i = 0; i < 300; ++i) {
    ShardShares shares(1 + random.Below(20));
    for (double& share : shares) share = random.Chance(0.2) ? 0 : random.NextDouble();
    shares[random.Below(shares.size())] += 0.1;
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    for (double& share : shares) share /= sum;
    RangeRules rules = {.unit = 2 * (1 + random.Below(4)), .least = random.Below(200)};
    const uint64_t length = 2 * (1 + random.Below(5000));
    const std::vector<ShardRange> ranges = RangesFor(shares, length, rules);
    uint64_t end = 0;
    double owned = 0;
    for (const ShardRange& range : ranges) owned += shares[range.owner];
    for (size_t r = 0; r < ranges.size(); ++r) {
      const ShardRange& range = ranges[r];
      EXPECT_EQ(range.begin, end);
      EXPECT_EQ(range.begin % rules.unit, 0);
      EXPECT_TRUE(r == 0 || ranges[r - 1].owner < range.owner);
      end = range.end;
      if (ranges.size() == 1) continue;
      EXPECT_GT(range.size() + rules.unit, rules.least);
      const double wanted = shares[range.owner] / owned * static_cast<double>(length);
      EXPECT_NEAR(static_cast<double>(range.size()), wanted, 2.0 * static_cast<double>(rules.unit));
    }
    EXPECT_EQ(end, length);
    const ShardShares back = SharesOf(ranges, shares.size());
    EXPECT_NEAR(std::accumulate(back.begin(), back.end(), 0.0), 1, 1e-12);
  }
}

}  // namespace
}  // namespace motley
