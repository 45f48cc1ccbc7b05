// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/chunk_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace motley {
namespace {

WorkLists Sorted(WorkLists lists) {
  for (auto& list : lists) std::sort(list.begin(), list.end());
  return lists;
}

void ExpectRegular(const WorkLists& lists, size_t copies) {
  std::vector<size_t> held(lists.size(), 0);
  for (const auto& list : lists) {
    EXPECT_EQ(std::set<PartitionId>(list.begin(), list.end()).size(), copies);
    for (PartitionId chunk : list) ++held[chunk];
  }
  EXPECT_EQ(held, std::vector<size_t>(lists.size(), copies));
}

// For each chunk, take the sum of its positions (from 1) over its holders; this is the largest such
// sum ("Q_max"). With d copies, an order by matchings has d (d + 1) / 2, the least possible.
uint64_t LargestPositionSum(const WorkLists& lists) {
  std::vector<uint64_t> sums(lists.size(), 0);
  for (const auto& list : lists) {
    for (size_t t = 0; t < list.size(); ++t) sums[list[t]] += t + 1;
  }
  return *std::max_element(sums.begin(), sums.end());
}

TEST(ChunkOrder, CyclicLists) {
  EXPECT_EQ(CyclicShiftedLists(4, 3), (WorkLists{{0, 1, 2}, {1, 2, 3}, {2, 3, 0}, {3, 0, 1}}));
}

TEST(ChunkOrder, MatchingsPutEachChunkAtEachPositionOnce) {
  Random random(1, Stream::kTest);
  for (uint32_t n : {1, 2, 3, 7, 20, 200}) {
    for (uint32_t copies : {1U, 2U, 3U, 8U, n}) {
      if (copies > n || copies > 20) continue;
      const WorkLists placement = RandomRegularLists(n, copies, random);
      ExpectRegular(placement, copies);
      const WorkLists order = MatchingOrder(placement, n).value();
      EXPECT_EQ(Sorted(order), Sorted(placement));
      for (uint32_t t = 0; t < copies; ++t) {
        std::set<PartitionId> at;
        for (const auto& list : order) at.insert(list[t]);
        EXPECT_EQ(at.size(), n);
      }
      EXPECT_EQ(LargestPositionSum(order), copies * (copies + 1) / 2);
    }
  }
}

// Ramamoorthy et al.'s figures for 8 copies: 36 with matchings, 51 to 55 in random orders.
TEST(ChunkOrder, MatchingsBeatRandomOrdersAsPublished) {
  Random random(2, Stream::kTest);
  double total = 0;
  for (int draw = 0; draw < 20; ++draw) {
    WorkLists lists = RandomRegularLists(200, 8, random);
    for (auto& list : lists) random.Shuffle(std::span(list));
    const uint64_t largest = LargestPositionSum(lists);
    EXPECT_GE(largest, 48);
    total += static_cast<double>(largest);
    EXPECT_EQ(LargestPositionSum(MatchingOrder(lists, draw).value()), 36);
  }
  EXPECT_NEAR(total / 20, 53, 2.5);
}

TEST(ChunkOrder, IrregularPlacementsAreRefusedWithTheReason) {
  for (const WorkLists& lists : {WorkLists{{0, 1}, {0}}, WorkLists{{0, 0}, {1, 1}},
                                 WorkLists{{0}, {0}}, WorkLists{{0}, {2}}}) {
    const auto order = MatchingOrder(lists, 1);
    EXPECT_EQ(order.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(order.status().message().find("least coverage"), std::string::npos);
  }
  EXPECT_TRUE(MatchingOrder({}, 1)->empty());
}

TEST(ChunkOrder, LeastCoveredFirstCoversEverythingBeforeRepeating) {
  Random random(3, Stream::kTest);
  for (int round = 0; round < 50; ++round) {
    const auto n = static_cast<uint32_t>(2 + random.Below(20));
    const WorkLists placement =
        RandomRegularLists(n, static_cast<uint32_t>(1 + random.Below(n)), random);
    const std::vector<double> equal(n, 1.0);
    const WorkLists order = LeastCoveredFirst(placement, equal);
    EXPECT_EQ(Sorted(order), Sorted(placement));
    // Nobody repeats a chunk while another chunk could still be started for the first time.
    std::set<PartitionId> started;
    for (uint32_t w = 0; w < n; ++w) {
      const bool fresh_held =
          std::any_of(placement[w].begin(), placement[w].end(),
                      [&](PartitionId chunk) { return !started.contains(chunk); });
      EXPECT_EQ(started.insert(order[w][0]).second, fresh_held);
    }
  }
}

TEST(ChunkOrder, LeastCoveredFirstLetsTheFastDoWhatTheSlowWillNotReach) {
  // Both workers hold everything; the first is three times as fast.
  const WorkLists order = LeastCoveredFirst({{0, 1, 2, 3}, {3, 2, 1, 0}}, std::vector{3.0, 1.0});
  EXPECT_EQ(order[0], (std::vector<PartitionId>{0, 1, 2, 3}));
  EXPECT_EQ(order[1], (std::vector<PartitionId>{3, 2, 1, 0}));
}

}  // namespace
}  // namespace motley
