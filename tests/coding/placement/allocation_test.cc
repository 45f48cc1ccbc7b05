// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "coding/placement/straggler_sets.h"

namespace motley {
namespace {

using ::testing::ElementsAre;

double Time(const std::vector<double>& speeds, const std::vector<uint32_t>& shares) {
  double time = 0;
  for (size_t i = 0; i < speeds.size(); ++i) time = std::max(time, shares[i] / speeds[i]);
  return time;
}

// The least time over all ways to share `left` among the workers `from`, `from` + 1, ...
double BestTime(const std::vector<double>& speeds, size_t from, uint64_t left, uint32_t cap) {
  if (from == speeds.size()) return left == 0 ? 0 : std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (uint64_t share = 0; share <= std::min<uint64_t>(left, cap); ++share) {
    const double rest = BestTime(speeds, from + 1, left - share, cap);
    best = std::min(best, std::max(static_cast<double>(share) / speeds[from], rest));
  }
  return best;
}

TEST(Allocate, NoOtherSharesFinishEarlier) {
  Random random(1, Stream::kTest);
  for (int round = 0; round < 100; ++round) {
    std::vector<double> speeds;
    for (uint64_t n = 1 + random.Below(4); speeds.size() < n;) {
      speeds.push_back(0.1 + 5 * random.NextDouble());
    }
    const auto cap = static_cast<uint32_t>(1 + random.Below(8));
    const uint64_t total = random.Below(cap * speeds.size() + 1);
    const auto shares = Allocate(speeds, total, cap);
    EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), uint64_t{0}), total);
    EXPECT_LE(*std::max_element(shares.begin(), shares.end()), cap);
    EXPECT_NEAR(Time(speeds, shares), BestTime(speeds, 0, total, cap), 1e-12);
  }
}

TEST(Allocate, IsExactWhereProportionsAreWhole) {
  EXPECT_THAT(Allocate(std::vector<double>{1, 2, 3, 4}, 20, 20), ElementsAre(2, 4, 6, 8));
}

TEST(Allocate, ExcessOfACappedWorkerGoesToTheOthersInProportion) {
  EXPECT_THAT(Allocate(std::vector<double>{100, 1, 3}, 16, 8), ElementsAre(8, 2, 6));
  EXPECT_THAT(Allocate(std::vector<double>{100, 1, 3}, 24, 8), ElementsAre(8, 8, 8));
}

TEST(Allocate, SurvivesSpeedsAtTheEndsOfTheRange) {
  EXPECT_THAT(Allocate(std::vector<double>{1e308, 1e308, 1e-308}, 7, 7), ElementsAre(4, 3, 0));
  EXPECT_THAT(Allocate(std::vector<double>{1e-308, 1e308}, 7, 4), ElementsAre(3, 4));
}

TEST(BalancedClasses, ArePerfectWhereTheyCanBe) {
  const std::vector<double> speeds{2, 2, 4, 4, 8, 8, 8, 12};
  for (uint32_t count : {1, 2, 3}) {
    const auto classes = BalancedClasses(speeds, count);
    ASSERT_EQ(classes.size(), count);
    for (const auto& members : classes) {
      double sum = 0;
      for (WorkerId worker : members) sum += speeds[worker];
      EXPECT_DOUBLE_EQ(sum, 48.0 / count);
    }
  }
}

TEST(BalancedClasses, HaveEveryWorkerOnceAndNoneIsEmpty) {
  Random random(2, Stream::kTest);
  for (uint32_t n = 1; n <= 20; ++n) {
    std::vector<double> speeds;
    for (uint32_t i = 0; i < n; ++i) speeds.push_back(0.01 + random.NextDouble());
    for (uint32_t count = 1; count <= n; ++count) {
      std::vector<WorkerId> seen;
      for (const auto& members : BalancedClasses(speeds, count)) {
        EXPECT_FALSE(members.empty());
        EXPECT_TRUE(std::is_sorted(members.begin(), members.end()));
        seen.insert(seen.end(), members.begin(), members.end());
      }
      std::sort(seen.begin(), seen.end());
      std::vector<WorkerId> all(n);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(seen, all);
    }
  }
}

TEST(StragglerSets, ListsAllOfThemOnce) {
  Random random(1, Stream::kTest);
  const auto sets = StragglerSets(7, 3, 35, random);
  EXPECT_EQ(sets.size(), 35);
  EXPECT_TRUE(std::is_sorted(sets.begin(), sets.end()));
  EXPECT_EQ(std::adjacent_find(sets.begin(), sets.end()), sets.end());
  EXPECT_THAT(StragglerSets(4, 0, 1, random), ElementsAre(ElementsAre()));
  EXPECT_THAT(StragglerSets(2, 2, 1, random), ElementsAre(ElementsAre(0, 1)));
}

TEST(StragglerSets, SamplesHaveTheRightSizeAndNoRepeats) {
  Random random(1, Stream::kTest);
  const auto sets = StragglerSets(30, 6, 100, random);
  EXPECT_EQ(sets.size(), 100);
  for (const auto& set : sets) {
    EXPECT_EQ(set.size(), 6);
    EXPECT_TRUE(std::is_sorted(set.begin(), set.end()));
    EXPECT_EQ(std::adjacent_find(set.begin(), set.end()), set.end());
    EXPECT_LT(set.back(), 30);
  }
}

TEST(Choose, IsRightAndDoesNotOverflow) {
  EXPECT_EQ(Choose(10, 3), 120);
  EXPECT_EQ(Choose(10, 10), 1);
  EXPECT_EQ(Choose(64, 32), 1832624140942590534U);
  EXPECT_EQ(Choose(4096, 2000), std::numeric_limits<uint64_t>::max());
}

}  // namespace
}  // namespace motley
