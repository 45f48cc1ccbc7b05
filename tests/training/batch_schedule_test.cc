// SPDX-License-Identifier: Apache-2.0
#include "training/batch_schedule.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

using Sizes = std::vector<uint32_t>;

// Walks an epoch and checks that each step's ranges continue the last one's and end at the sizes.
void ExpectEpochVisitsEverySampleOnce(const BatchSchedule& schedule, uint64_t epoch) {
  const Sizes& sizes = schedule.partition_sizes();
  Sizes reached(sizes.size(), 0);
  const uint64_t steps = schedule.steps_per_epoch();
  for (uint64_t step = epoch * steps; step < (epoch + 1) * steps; ++step) {
    ASSERT_EQ(schedule.epoch(step), epoch);
    const auto ranges = schedule.Ranges(step);
    ASSERT_EQ(ranges.size(), sizes.size());
    uint64_t total = 0;
    for (size_t p = 0; p < sizes.size(); ++p) {
      ASSERT_EQ(ranges[p].begin, reached[p]) << "step " << step << " partition " << p;
      ASSERT_EQ(ranges[p].before, total) << "step " << step << " partition " << p;
      reached[p] += ranges[p].count;
      total += ranges[p].count;
    }
    ASSERT_EQ(total, schedule.batch_size(step)) << "step " << step;
  }
  EXPECT_EQ(reached, sizes);
}

TEST(BatchSchedule, EveryEpochVisitsEverySampleOnceInExactBatches) {
  const std::vector<std::pair<Sizes, uint32_t>> cases = {{{10}, 3},
                                                         {{1}, 1},
                                                         {{5, 5, 5}, 1},
                                                         {{5, 5, 5}, 15},
                                                         {{7, 0, 3}, 4},
                                                         {{0, 0, 9, 0}, 2},
                                                         {{100, 1, 1, 1}, 10},
                                                         {{3, 3}, 100},
                                                         {{8, 8, 8}, 24},
                                                         {{8, 8, 8}, 23},
                                                         {Sizes(256, 37), 256},
                                                         {{1000, 10, 500, 3}, 64},
                                                         {{2, 2}, 3},
                                                         {Sizes(50, 1), 7},
                                                         {{4294967295u, 1}, 4294967295u}};
  for (const auto& [sizes, batch] : cases) {
    const BatchSchedule schedule(7, sizes, batch);
    for (const uint64_t epoch : {0, 1, 5}) ExpectEpochVisitsEverySampleOnce(schedule, epoch);
  }
}

TEST(BatchSchedule, RandomShapesVisitEverySampleOnce) {
  Random random(3, Stream::kTest);
  for (int i = 0; i < 300; ++i) {
    Sizes sizes(1 + random.Below(40));
    for (uint32_t& size : sizes) size = static_cast<uint32_t>(random.Below(30));
    sizes[0] += 1;
    const auto batch = static_cast<uint32_t>(1 + random.Below(60));
    ExpectEpochVisitsEverySampleOnce(BatchSchedule(random.Next64(), sizes, batch), i);
  }
}

TEST(BatchSchedule, OrderIsAPermutationThatChangesWithEpochPartitionAndSeed) {
  const BatchSchedule schedule(7, {100, 100}, 10);
  auto order = schedule.Order(0, 0);
  EXPECT_NE(order, schedule.Order(1, 0));
  EXPECT_NE(order, schedule.Order(0, 1));
  EXPECT_NE(order, BatchSchedule(8, {100, 100}, 10).Order(0, 0));
  std::sort(order.begin(), order.end());
  Sizes all(100);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(order, all);
}

TEST(BatchSchedule, RunsOfPartitionsAreCounted) {
  const auto ranges = BatchSchedule(7, {30, 50, 0, 20}, 16).Ranges(2);
  for (PartitionId first = 0; first < 4; ++first) {
    uint32_t sum = 0;
    for (PartitionId last = first + 1; last <= 4; ++last) {
      sum += ranges[last - 1].count;
      EXPECT_EQ(BatchSchedule::Count(ranges, first, last), sum) << first << " to " << last;
    }
  }
}

TEST(BatchSchedule, SharedRangesStayWhileTheyAreHeld) {
  const BatchSchedule schedule(7, {30, 50, 20}, 16);
  std::vector<std::shared_ptr<const std::vector<BatchSchedule::Range>>> held;
  for (StepId step = 0; step < 20; ++step) {
    const auto shared = schedule.SharedRanges(step);
    if (step % 3 == 0) held.push_back(shared);  // Others may be used again.
  }
  for (size_t i = 0; i < held.size(); ++i) {
    const auto again = BatchSchedule(7, {30, 50, 20}, 16).Ranges(3 * i);
    for (size_t p = 0; p < again.size(); ++p) {
      EXPECT_EQ((*held[i])[p].begin, again[p].begin) << "step " << 3 * i;
      EXPECT_EQ((*held[i])[p].count, again[p].count) << "step " << 3 * i;
    }
  }
}

TEST(BatchSchedule, DependsOnSeedSizesAndBatchAlone) {
  const BatchSchedule one(7, {30, 50, 20}, 16);
  const BatchSchedule two(7, {30, 50, 20}, 16);
  two.Ranges(3);  // What was asked before changes nothing.
  for (StepId step = 0; step < 20; ++step) {
    const auto mine = one.Ranges(step);
    const auto yours = two.Ranges(step);
    for (size_t p = 0; p < mine.size(); ++p) {
      EXPECT_EQ(mine[p].begin, yours[p].begin);
      EXPECT_EQ(mine[p].count, yours[p].count);
    }
  }
  EXPECT_EQ(one.Order(4, 1), two.Order(4, 1));
}

// Fixed for all time: another machine, compiler or version must train on the same batches.
TEST(BatchSchedule, GoldenValuesStayAsTheyAre) {
  const BatchSchedule schedule(7, {30, 50, 20}, 16);
  std::vector<uint32_t> counts;
  for (StepId step = 0; step < 7; ++step) {
    for (const auto& range : schedule.Ranges(step)) counts.push_back(range.count);
  }
  EXPECT_EQ(counts, Sizes({5, 8, 3, 5, 8, 3, 5, 7, 4, 4, 9, 3, 5, 8, 3, 5, 8, 3, 1, 2, 1}));
  auto order = schedule.Order(0, 2);
  order.resize(6);
  EXPECT_THAT(order, testing::ElementsAre(6, 10, 11, 4, 5, 7));
}

// The definition in the header, by sorting all keys (r + u_p) / n_p as exact fractions.
TEST(BatchSchedule, BatchesTakeSamplesInTheOrderOfTheirKeys) {
  const Sizes sizes = {9, 30, 1, 0, 17, 9};
  struct Key {
    uint64_t numerator;
    uint32_t size;
    uint32_t partition;
  };
  std::vector<Key> keys;
  for (uint32_t p = 0; p < sizes.size(); ++p) {
    const uint64_t offset = Random(5, Stream::kShuffle, 2, p).Next32();
    for (uint64_t r = 0; r < sizes[p]; ++r) keys.push_back({(r << 32) + offset, sizes[p], p});
  }
  std::stable_sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return a.numerator * b.size < b.numerator * a.size;
  });
  const BatchSchedule schedule(5, sizes, 7);
  const StepId first = 2 * schedule.steps_per_epoch();
  for (StepId step = 0; step < schedule.steps_per_epoch(); ++step) {
    Sizes wanted(sizes.size(), 0);
    for (size_t i = 7 * step; i < std::min<size_t>(7 * step + 7, keys.size()); ++i) {
      ++wanted[keys[i].partition];
    }
    Sizes counts;
    for (const auto& range : schedule.Ranges(first + step)) counts.push_back(range.count);
    EXPECT_EQ(counts, wanted) << "step " << step;
  }
}

TEST(BatchSchedule, EachPartitionContributesItsProportionWithinTwo) {
  const Sizes sizes = {1000, 10, 500, 3, 0, 2500};
  const BatchSchedule schedule(11, sizes, 100);
  for (StepId step = 0; step + 1 < schedule.steps_per_epoch(); ++step) {
    const auto ranges = schedule.Ranges(step);
    for (size_t p = 0; p < sizes.size(); ++p) {
      const double share = 100.0 * sizes[p] / static_cast<double>(schedule.samples());
      EXPECT_LE(std::abs(ranges[p].count - share), 2) << "step " << step << " partition " << p;
    }
  }
}

TEST(BatchSchedule, BatchLargerThanAllSamplesIsAllOfThem) {
  const BatchSchedule schedule(1, {4, 3}, 1000);
  EXPECT_EQ(schedule.steps_per_epoch(), 1u);
  EXPECT_EQ(schedule.batch_size(0), 7u);
  EXPECT_EQ(schedule.batch_size(12), 7u);
}

TEST(BatchSchedule, LastBatchOfAnEpochIsTheRest) {
  const BatchSchedule schedule(1, {10}, 4);
  EXPECT_EQ(schedule.steps_per_epoch(), 3u);
  EXPECT_EQ(schedule.batch_size(2), 2u);
  EXPECT_EQ(schedule.batch_size(3), 4u);
}

TEST(PartitionSizes, DifferByAtMostOneAndAddUp) {
  EXPECT_THAT(PartitionSizes(10, 4), testing::ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(PartitionSizes(3, 5), testing::ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(PartitionSizes(8, 1), testing::ElementsAre(8));
}

}  // namespace
}  // namespace motley
