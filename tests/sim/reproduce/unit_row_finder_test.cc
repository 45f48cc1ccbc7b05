// SPDX-License-Identifier: Apache-2.0
#include "sim/reproduce/unit_row_finder.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

uint32_t Add(UnitRowFinder& finder, std::vector<uint32_t> partitions) {
  return finder.Add(partitions);
}

TEST(UnitRowFinder, PeelsSums) {
  UnitRowFinder finder(4);
  EXPECT_EQ(Add(finder, {0, 1, 2}), 0U);
  EXPECT_EQ(Add(finder, {1, 2}), 1U);  // 0
  EXPECT_EQ(Add(finder, {1, 2}), 1U);  // Nothing new.
  EXPECT_EQ(Add(finder, {2}), 3U);
  EXPECT_EQ(Add(finder, {3}), 4U);
  EXPECT_EQ(finder.found(), 4U);
}

// Peeling is stuck here, and over bits the three sums depend on each other.
TEST(UnitRowFinder, SolvesWherePeelingCannot) {
  UnitRowFinder finder(3);
  Add(finder, {0, 1});
  EXPECT_EQ(Add(finder, {1, 2}), 0U);
  EXPECT_EQ(Add(finder, {0, 2}), 3U);
}

TEST(UnitRowFinder, EvenCycleIsNotEnough) {
  UnitRowFinder finder(4);
  Add(finder, {0, 1});
  Add(finder, {1, 2});
  Add(finder, {2, 3});
  EXPECT_EQ(Add(finder, {3, 0}), 0U);
}

// What is found does not depend on the order, and never shrinks.
TEST(UnitRowFinder, OrderOfSumsDoesNotMatter) {
  Random random(1, Stream::kTest, 77);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::vector<uint32_t>> sums;
    for (int i = 0; i < 9; ++i) {
      std::vector<uint32_t> all(10);
      std::iota(all.begin(), all.end(), 0U);
      random.Shuffle(std::span<uint32_t>(all));
      all.resize(1 + random.Below(3));
      sums.push_back(all);
    }
    UnitRowFinder forwards(10);
    UnitRowFinder backwards(10);
    uint32_t before = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      EXPECT_GE(forwards.Add(sums[i]), before);
      before = forwards.found();
      backwards.Add(sums[sums.size() - 1 - i]);
    }
    EXPECT_EQ(forwards.found(), backwards.found());
  }
}

}  // namespace
}  // namespace motley
