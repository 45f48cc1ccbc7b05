// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/batch_weight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "coding/gradient_code.h"

namespace motley {
namespace {

using testing::HasSubstr;

// Four partitions have 10, 0, 25 and 5 samples in the batch.
class BatchWeightTest : public testing::Test {
 protected:
  BatchWeightTest() {
    auto ranges = std::make_shared<std::vector<BatchSchedule::Range>>();
    for (const uint32_t count : {10, 0, 25, 5}) ranges->push_back({0, count});
    counts_ = ranges;
  }

  static Tally Weighing(std::complex<double> weight) { return {.loss = 3, .weight = weight}; }
  Result<double> Exact(double weight, bool known) {
    return BatchWeight(Weighing(weight), 40, known, *counts_, nullptr);
  }
  Result<double> Approximate(double weight, bool known, std::vector<double> coverage) {
    const ApproximateSum sum{.weights = {}, .coverage = std::move(coverage), .error = 0.1};
    return BatchWeight(Weighing(weight), 40, known, *counts_, &sum);
  }

  KnownCounts counts_;
};

TEST_F(BatchWeightTest, AnExactSumOfSamplesWeighsAsManyAsThereAre) {
  EXPECT_EQ(Exact(40 + 1e-9, true).value(), 40) << "what decoding rounds changes nothing";
  EXPECT_EQ(Exact(39, true).code(), StatusCode::kInternal);
  EXPECT_THAT(Exact(41, true).status().message(), HasSubstr("weighs 41, the batch has 40"));
}

TEST_F(BatchWeightTest, OtherwiseItIsWhatWasDecoded) {
  EXPECT_EQ(Exact(123.5, false).value(), 123.5);
  EXPECT_EQ(Exact(0, false).value(), 0);
  EXPECT_EQ(Exact(-1, false).code(), StatusCode::kDataError);
}

TEST_F(BatchWeightTest, AnApproximateSumOfSamplesIsDividedByTheNominalWeight) {
  EXPECT_EQ(Approximate(30, true, {1, 1, 0.5, 1}).value(), 40);
  EXPECT_EQ(Approximate(0, true, {0, 4, 0, 0}).value(), 40);
}

// If each sample weighs 1, this is also their number.
TEST_F(BatchWeightTest, OfAnApproximateSumTheWeightPerSampleIsThatOfTheBatch) {
  const std::vector<double> coverage = {2, 1, 1, 0};
  EXPECT_DOUBLE_EQ(Approximate(45, false, coverage).value(), 40);
  EXPECT_DOUBLE_EQ(Approximate(135, false, coverage).value(), 120);
}

TEST_F(BatchWeightTest, AnApproximateSumOfNothingHasNoMean) {
  EXPECT_EQ(Approximate(1e-17, false, {0, 4, 0, 1e-17}).value(), 0);
  EXPECT_EQ(Approximate(-3, false, {2, 1, 1, 0}).value(), 0);
}

TEST_F(BatchWeightTest, AnExactStepStandsForItsWholeBatch) {
  EXPECT_EQ(EffectiveSamples(*counts_, nullptr), 40);
}

// The variance of the mean of n samples is 1/n of that of one sample. The result is the n of a
// plain mean with the variance of the weighted one.
TEST_F(BatchWeightTest, AnApproximateStepStandsForAsManySamplesAsItIsPreciseAs) {
  const auto effective = [this](std::vector<double> coverage) {
    const ApproximateSum sum{.weights = {}, .coverage = std::move(coverage), .error = 0.1};
    return EffectiveSamples(*counts_, &sum);
  };
  EXPECT_DOUBLE_EQ(effective({4.0 / 3, 4.0 / 3, 4.0 / 3, 0}), 35) << "all that counts is alike";
  EXPECT_DOUBLE_EQ(effective({4, 0, 0, 0}), 10);
  EXPECT_EQ(effective({0, 4, 0, 0}), 0) << "nothing of the batch was covered";
  double variance = 0, whole = 0;  // The variance of a weighted mean of x_i, each of variance 1.
  const std::vector<double> coverage = {2, 1, 0.5, 0.5};
  for (size_t p = 0; p < coverage.size(); ++p) {
    for (uint32_t i = 0; i < (*counts_)[p].count; ++i) whole += coverage[p];
  }
  for (size_t p = 0; p < coverage.size(); ++p) {
    for (uint32_t i = 0; i < (*counts_)[p].count; ++i) {
      variance += coverage[p] * coverage[p] / (whole * whole);
    }
  }
  EXPECT_NEAR(effective(coverage), 1 / variance, 1e-9);
}

TEST_F(BatchWeightTest, AnAnswerWeighsWhatItsRowSays) {
  CodeRequest request;
  request.speeds.assign(4, 1);
  request.stragglers = 1;
  request.partitions = 4;
  for (const char* code : {"none", "rs", "cyclic"}) {
    if (code == std::string("none")) request.stragglers = 0;
    const CodeForm form = BuildCode(code, request).value();
    request.stragglers = 1;
    for (RowId row = 0; row < form.workers; ++row) {
      std::complex<double> weight = 0;
      for (const CodeEntry& entry : form.rows[row]) {
        weight += entry.coefficient * static_cast<double>((*counts_)[entry.partition].count);
      }
      EXPECT_TRUE(CheckTally(Weighing(weight * (1 + 1e-14)), counts_, form, row).ok());
      EXPECT_TRUE(CheckTally(Weighing(weight + 7.0), nullptr, form, row).ok()) << "unknown";
      const Status less = CheckTally(Weighing(weight - 1.0), counts_, form, row);
      EXPECT_EQ(less.code(), StatusCode::kDataError) << code;
      EXPECT_THAT(less.message(), HasSubstr("missing or count twice"));
      EXPECT_FALSE(CheckTally(Weighing(weight + Complex(0, 1e-3)), counts_, form, row).ok());
    }
  }
}

TEST_F(BatchWeightTest, AVectorOverPartitionsWeighsTheirSamples) {
  const std::vector<PartitionId> partitions = {3, 0, 1};
  EXPECT_TRUE(CheckTally(Weighing(15), counts_, partitions).ok());
  EXPECT_FALSE(CheckTally(Weighing(16), counts_, partitions).ok());
  EXPECT_TRUE(CheckTally(Weighing(16), nullptr, partitions).ok());
}

TEST_F(BatchWeightTest, WhatCannotBeSummedIsRefused) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(CheckTally({.loss = -1e90, .weight = 1e90}).ok());
  for (const double bad : {std::nan(""), inf, -inf, 1e101}) {
    EXPECT_EQ(CheckTally({.loss = bad, .weight = 1}).code(), StatusCode::kDataError);
    EXPECT_EQ(CheckTally({.loss = 1, .weight = {0, bad}}).code(), StatusCode::kDataError);
  }
}

}  // namespace
}  // namespace motley
