// SPDX-License-Identifier: Apache-2.0
#include "training/trainers/step_batch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"

namespace motley {
namespace {

using Samples = std::vector<uint32_t>;

Samples SamplesOf(const StepBatch& batch) {
  Samples samples;
  batch.AppendRows(0, batch.size(), 0, samples);
  return samples;
}

// Walks through an epoch: each step's samples ascend, and the steps have each sample once.
void ExpectEpochVisitsEverySampleOnce(uint64_t seed, uint64_t samples, uint32_t batch,
                                      uint64_t epoch) {
  SCOPED_TRACE(testing::Message() << "N " << samples << " b " << batch << " epoch " << epoch);
  const uint64_t steps = StepBatch::StepsPerEpoch(samples, batch);
  std::vector<uint8_t> times(samples, 0);
  for (uint64_t t = 0; t < steps; ++t) {
    const StepBatch of_step(seed, samples, batch, epoch * steps + t);
    const Samples found = SamplesOf(of_step);
    const uint64_t rest = samples - std::min(samples, t * batch);
    ASSERT_EQ(found.size(), std::min<uint64_t>(batch, rest));
    for (size_t rank = 0; rank < found.size(); ++rank) {
      ASSERT_LT(found[rank], samples);
      ASSERT_TRUE(rank == 0 || found[rank - 1] < found[rank]) << "step " << t << " rank " << rank;
      ++times[found[rank]];
    }
  }
  ASSERT_EQ(std::count(times.begin(), times.end(), 1), static_cast<ptrdiff_t>(samples));
}

TEST(StepBatch, EveryEpochVisitsEverySampleOnce) {
  for (uint64_t samples = 1; samples <= 40; ++samples) {
    for (uint32_t batch = 1; batch <= samples + 2; ++batch) {
      for (const uint64_t epoch : {0, 1, 5}) {
        ExpectEpochVisitsEverySampleOnce(7, samples, batch, epoch);
      }
    }
  }
  Random random(3, Stream::kTest);
  for (int i = 0; i < 100; ++i) {
    const uint64_t samples = 1 + random.Below(3000);
    const auto batch = static_cast<uint32_t>(1 + random.Below(samples + 10));
    ExpectEpochVisitsEverySampleOnce(random.Next64(), samples, batch, random.Below(1000));
  }
}

TEST(StepBatch, SamplesBeforeAPositionAreCounted) {
  Random random(4, Stream::kTest);
  for (int i = 0; i < 300; ++i) {
    const uint64_t samples = 1 + random.Below(80);
    const auto batch = static_cast<uint32_t>(1 + random.Below(samples + 2));
    const StepBatch of_step(random.Next64(), samples, batch, random.Below(500));
    const Samples found = SamplesOf(of_step);
    for (uint64_t position = 0; position <= samples; ++position) {
      const auto before = std::count_if(found.begin(), found.end(),
                                        [&](uint32_t sample) { return sample < position; });
      ASSERT_EQ(of_step.Before(position), before) << "N " << samples << " b " << batch;
    }
  }
}

// A batch has one sample of each run: runs inside the part count exactly, and each end adds less
// than one.
TEST(StepBatch, AContiguousPartHasItsShare) {
  Random random(5, Stream::kTest);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t samples = 1 + random.Below(5000);
    const auto batch = static_cast<uint32_t>(1 + random.Below(samples));
    const StepBatch of_step(random.Next64(), samples, batch, random.Below(500));
    const uint64_t begin = random.Below(samples + 1);
    const uint64_t end = begin + random.Below(samples + 1 - begin);
    const double share = static_cast<double>(of_step.size()) * static_cast<double>(end - begin) /
                         static_cast<double>(samples);
    EXPECT_LT(std::abs(of_step.Before(end) - of_step.Before(begin) - share), 2)
        << "N " << samples << " b " << batch << " [" << begin << ", " << end << ")";
  }
}

// Ten labels in order: a batch of 60 samples has six of each, plus or minus two.
TEST(StepBatch, HasEveryLabelOfSortedData) {
  constexpr uint64_t kLabels = 10, kOfEach = 137;
  for (StepId step = 0; step < 22; ++step) {  // An epoch without its last, smaller batch.
    Samples labels(kLabels, 0);
    for (const uint32_t sample : SamplesOf(StepBatch(7, kLabels * kOfEach, 60, step))) {
      ++labels[sample / kOfEach];
    }
    EXPECT_THAT(labels, testing::Each(testing::AllOf(testing::Ge(4u), testing::Le(8u))));
  }
}

// This includes the last, smaller batch, and both ends of the data set.
TEST(StepBatch, EverySampleIsEquallyLikelyInEveryStep) {
  constexpr int kEpochs = 20'000;
  const std::pair<uint64_t, uint32_t> cases[] = {{5, 4}, {10, 4}, {7, 1}, {17, 3}, {24, 8}};
  for (const auto& [samples, batch] : cases) {
    const uint64_t steps = StepBatch::StepsPerEpoch(samples, batch);
    for (uint64_t t = 0; t < steps; ++t) {
      std::vector<double> times(samples, 0);
      for (uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
        for (const uint32_t sample : SamplesOf(StepBatch(9, samples, batch, epoch * steps + t))) {
          ++times[sample];
        }
      }
      const double share = static_cast<double>(StepBatch(9, samples, batch, t).size()) /
                           static_cast<double>(samples);
      const double sigma = std::sqrt(kEpochs * share * (1 - share));
      for (uint64_t i = 0; i < samples; ++i) {
        EXPECT_LE(std::abs(times[i] - kEpochs * share), 5 * sigma)
            << "N " << samples << " b " << batch << " step " << t << " sample " << i;
      }
    }
  }
}

// Two samples of one run are never in one batch. Each epoch has other runs.
TEST(StepBatch, AnyTwoSamplesMeetInSomeBatch) {
  constexpr uint64_t kSamples = 12;
  std::vector<std::vector<bool>> met(kSamples, std::vector<bool>(kSamples, false));
  for (StepId step = 0; step < 4 * 300; ++step) {
    const Samples samples = SamplesOf(StepBatch(7, kSamples, 3, step));
    for (const uint32_t a : samples) {
      for (const uint32_t b : samples) met[a][b] = true;
    }
  }
  for (const std::vector<bool>& others : met) {
    EXPECT_EQ(std::count(others.begin(), others.end(), true), static_cast<ptrdiff_t>(kSamples));
  }
}

TEST(StepBatch, ChangesWithSeedStepAndEpoch) {
  const Samples first = SamplesOf(StepBatch(7, 1000, 50, 0));
  EXPECT_EQ(first, SamplesOf(StepBatch(7, 1000, 50, 0)));
  EXPECT_NE(first, SamplesOf(StepBatch(8, 1000, 50, 0)));
  EXPECT_NE(first, SamplesOf(StepBatch(7, 1000, 50, 1)));
  EXPECT_NE(first, SamplesOf(StepBatch(7, 1000, 50, 20)));  // First step of the next epoch.
}

TEST(StepBatch, OfAllSamplesIsAllOfThemInOrder) {
  for (const uint32_t batch : {7u, 1000u}) {
    for (const StepId step : {0, 1, 12}) {
      EXPECT_THAT(SamplesOf(StepBatch(1, 7, batch, step)),
                  testing::ElementsAre(0, 1, 2, 3, 4, 5, 6));
    }
  }
}

// Nothing overflows at the largest sizes. Ten million samples cost no more than ten.
TEST(StepBatch, OfTheLargestDataSetsIsFoundInConstantTime) {
  constexpr uint64_t kMost = uint64_t{1} << 32;
  for (const uint64_t samples : {uint64_t{10'000'000}, kMost - 1, kMost}) {
    for (const uint32_t batch : {1u, 3u, 4096u, 4294967295u}) {
      const uint64_t steps = StepBatch::StepsPerEpoch(samples, batch);
      for (const StepId step : {uint64_t{0}, steps - 1, steps * 1000}) {
        const StepBatch of_step(7, samples, batch, step);
        for (const uint32_t rank : {0u, of_step.size() / 2, of_step.size() - 1}) {
          const uint64_t sample = of_step.Sample(rank);
          ASSERT_LT(sample, samples);
          ASSERT_EQ(of_step.Before(sample), rank) << samples << " " << batch << " " << step;
          ASSERT_EQ(of_step.Before(sample + 1), rank + 1);
        }
      }
    }
  }
}

// These never change: another machine, compiler or version must train on the same batches.
TEST(StepBatch, GoldenValuesStayAsTheyAre) {
  EXPECT_THAT(SamplesOf(StepBatch(7, 100, 8, 0)),
              testing::ElementsAre(9, 26, 37, 47, 53, 66, 86, 99));
  EXPECT_THAT(SamplesOf(StepBatch(7, 100, 8, 12)), testing::ElementsAre(6, 29, 52, 82));
  EXPECT_THAT(SamplesOf(StepBatch(7, 100, 8, 13)),
              testing::ElementsAre(10, 21, 34, 48, 54, 78, 84, 96));
  EXPECT_THAT(SamplesOf(StepBatch(7, 10'000'000, 4, 1'000'000)),
              testing::ElementsAre(2840056, 3024011, 6264746, 8923355));
}

}  // namespace
}  // namespace motley
