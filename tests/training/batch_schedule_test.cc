// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/batch_schedule.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

using Sizes = std::vector<uint32_t>;

// Walks through an epoch: the ranges tile each batch, contain the samples of their partitions, and
// visit each sample once.
void ExpectEpochVisitsEverySampleOnce(const BatchSchedule& schedule, uint64_t epoch) {
  const Sizes& sizes = schedule.partition_sizes();
  Sizes reached(sizes.size(), 0);
  const uint64_t steps = schedule.steps_per_epoch();
  for (uint64_t step = epoch * steps; step < (epoch + 1) * steps; ++step) {
    ASSERT_EQ(schedule.epoch(step), epoch);
    const auto ranges = schedule.Ranges(step);
    ASSERT_EQ(ranges.size(), sizes.size());
    const StepBatch batch = schedule.At(step);
    ASSERT_EQ(batch.size(), schedule.batch_size(step));
    uint64_t total = 0;
    for (PartitionId p = 0; p < sizes.size(); ++p) {
      ASSERT_EQ(ranges[p].begin, total) << "step " << step << " partition " << p;
      reached[p] += ranges[p].count;
      total += ranges[p].count;
      if (ranges[p].count == 0) continue;
      ASSERT_GE(batch.Sample(ranges[p].begin), schedule.first_sample(p));
      ASSERT_LT(batch.Sample(ranges[p].end() - 1), schedule.first_sample(p) + sizes[p]);
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

// The last batch of an epoch has 10 samples, which is the share of one step.
TEST(BatchSchedule, StepsMayShareABatch) {
  const BatchSchedule alone(7, PartitionSizes(100, 10), 30);
  const BatchSchedule shared(7, PartitionSizes(100, 10), 30, /*turns=*/3);
  EXPECT_EQ(shared.steps_per_epoch(), 10u);
  for (StepId step = 0; step < 40; ++step) {
    const StepId batch = step / 10 * 4 + step % 10 / 3;
    EXPECT_EQ(shared.Rows(step), alone.Rows(batch));
    EXPECT_EQ(shared.batch_size(step), alone.batch_size(batch));
    EXPECT_EQ(shared.epoch(step), alone.epoch(batch));
    EXPECT_EQ(shared.turns(step), step % 10 == 9 ? 1u : 3u);
    const auto shares = shared.Ranges(step), whole = alone.Ranges(batch);
    for (size_t p = 0; p < whole.size(); ++p) EXPECT_EQ(shares[p].begin, whole[p].begin);
  }
}

TEST(BatchSchedule, AShortBatchHasASampleForEachOfItsSteps) {
  Random random(4, Stream::kTest);
  for (int i = 0; i < 1000; ++i) {
    const auto turns = static_cast<uint32_t>(1 + random.Below(9));
    const auto each = static_cast<uint32_t>(1 + random.Below(20));
    const auto samples = static_cast<uint32_t>(1 + random.Below(400));
    const BatchSchedule schedule(7, {samples}, turns * each, turns);
    const uint64_t steps = schedule.steps_per_epoch();
    EXPECT_EQ(steps, (samples + each - 1) / each) << "as many as if each had a batch";
    uint64_t batches = 0, counted = 0;
    for (StepId step = 0; step < steps; step += schedule.turns(step), ++batches) {
      counted += schedule.batch_size(step);
      ASSERT_GT(schedule.turns(step), 0u);
      ASSERT_LE(schedule.turns(step), schedule.batch_size(step));
      ASSERT_LE(schedule.batch_size(step), schedule.turns(step) * each);
    }
    ASSERT_EQ(counted, samples);
  }
}

TEST(BatchSchedule, PartitionsChangeNoBatch) {
  constexpr uint32_t kSamples = 600;
  const std::vector<Sizes> cuts = {PartitionSizes(kSamples, 1),
                                   PartitionSizes(kSamples, 64),
                                   PartitionSizes(kSamples, 599),
                                   {1, 500, 0, 99}};
  for (const uint32_t batch : {1u, 7u, 64u, 599u, 600u}) {
    const BatchSchedule whole(7, {kSamples}, batch);
    for (const Sizes& sizes : cuts) {
      const BatchSchedule cut(7, sizes, batch);
      for (StepId step = 0; step < 2 * whole.steps_per_epoch(); ++step) {
        ASSERT_EQ(cut.Rows(step), whole.Rows(step)) << sizes.size() << " partitions";
      }
    }
  }
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
    if (step % 3 == 0) held.push_back(shared);  // The others' memory may be reused.
  }
  for (size_t i = 0; i < held.size(); ++i) {
    const auto again = BatchSchedule(7, {30, 50, 20}, 16).Ranges(3 * i);
    for (size_t p = 0; p < again.size(); ++p) {
      EXPECT_EQ((*held[i])[p].begin, again[p].begin) << "step " << 3 * i;
      EXPECT_EQ((*held[i])[p].count, again[p].count) << "step " << 3 * i;
    }
  }
}

// Earlier calls on the same thread have no effect.
TEST(BatchSchedule, IsThatOfItsSeedSizesAndBatch) {
  const BatchSchedule one(7, {30, 50, 20}, 16);
  const BatchSchedule others[] = {BatchSchedule(8, {30, 50, 20}, 16),
                                  BatchSchedule(7, {30, 40, 30}, 16),
                                  BatchSchedule(7, {30, 50, 20}, 17)};
  for (StepId step = 0; step < 20; ++step) {
    const auto mine = one.Ranges(step);
    for (const BatchSchedule& other : others) other.SharedRanges(step);
    const auto again = one.Ranges(step);
    for (size_t p = 0; p < mine.size(); ++p) {
      EXPECT_EQ(mine[p].begin, again[p].begin);
      EXPECT_EQ(mine[p].count, again[p].count);
    }
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
