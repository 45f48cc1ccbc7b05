// SPDX-License-Identifier: Apache-2.0
#include "coding/noise_floor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "coding/combine.h"
#include "coding/gradient_code.h"
#include "coding/straggler_sets.h"
#include "coding/stream_decoder.h"

namespace motley {
namespace {

// Gradients whose odd coordinates are `odd` times as large as the even ones.
std::vector<std::vector<float>> Gradients(const CodeForm& form, size_t length, double odd) {
  Random random(5, Stream::kTest);
  std::vector<std::vector<float>> gradients(form.partitions, std::vector<float>(length, 0));
  for (auto& gradient : gradients) {
    for (size_t t = 0; t < length; ++t) {
      gradient[t] = static_cast<float>(random.Normal() * (t % 2 == 0 ? 1 : odd));
    }
  }
  return gradients;
}

std::vector<std::vector<float>> Answers(const CodeForm& form,
                                        const std::vector<std::vector<float>>& gradients) {
  std::vector<std::vector<float>> answers(form.workers, std::vector<float>(gradients[0].size(), 0));
  for (RowId row = 0; row < form.workers; ++row) {
    for (const CodeEntry& entry : form.rows[row]) {
      AddWeighted(form.field, entry.coefficient, gradients[entry.partition], answers[row]);
    }
  }
  return answers;
}

TEST(NoiseFloor, ExactZerosSurviveAComplexCode) {
  constexpr size_t kLength = 2000;
  for (const char* name : {"rs", "heterogeneous"}) {
    CodeRequest request;
    request.speeds = {1, 1, 0.5, 0.25, 1, 0.7};
    request.stragglers = 2;
    request.partitions = 96;
    const Result<CodeForm> form = BuildCode(name, request);
    ASSERT_TRUE(form.ok()) << form.status().ToString();
    std::vector<std::vector<float>> answers = Answers(*form, Gradients(*form, kLength, 0));
    const auto parallel = MakeSerialParallelFor();
    StreamDecoder decoder(*form, kLength, kLength, *parallel);
    for (RowId row = 0; row < 4; ++row) {
      AlignedVector values(answers[row].begin(), answers[row].end());
      ASSERT_TRUE(decoder.AddSlice(row, 0, values, 1e9).ok());
    }
    std::vector<float> sum(kLength);
    ASSERT_TRUE(decoder.Finish(sum).ok());
    for (size_t t = 0; t < kLength; t += 2) {
      EXPECT_NE(sum[t], 0) << name << ' ' << t;
      EXPECT_EQ(sum[t + 1], 0) << name << ' ' << t;
    }
  }
}

TEST(NoiseFloor, SmallTrueValuesBesideLargeOnesStay) {
  for (const auto& [workers, stragglers] : {std::pair{4u, 1u}, {16u, 3u}, {64u, 6u}}) {
    CodeRequest request;
    request.speeds.assign(workers, 1.0);
    request.stragglers = stragglers;
    request.partitions = 4 * workers;
    const Result<CodeForm> form = BuildCode("rs", request);
    ASSERT_TRUE(form.ok());
    constexpr size_t kLength = 2000;
    std::vector<std::vector<float>> answers = Answers(*form, Gradients(*form, kLength, 1e-3));
    const auto parallel = MakeSerialParallelFor();
    StreamDecoder decoder(*form, kLength, kLength, *parallel);
    for (RowId row = stragglers; row < workers; ++row) {
      AlignedVector values(answers[row].begin(), answers[row].end());
      ASSERT_TRUE(decoder.AddSlice(row, 0, values, 1e9).ok());
    }
    std::vector<float> sum(kLength);
    ASSERT_TRUE(decoder.Finish(sum).ok());
    size_t zeroed = 0;
    for (size_t t = 1; t < kLength; t += 2) zeroed += sum[t] == 0 ? 1 : 0;
    EXPECT_LE(zeroed, kLength / 2 / 50) << workers;
  }
}

// Their squares do not fit into a float.
TEST(NoiseFloor, VeryLargeAnswersAreNotTakenForNoise) {
  constexpr size_t kLength = 3000;
  for (const char* name : {"rs", "heterogeneous"}) {
    CodeRequest request;
    request.speeds.assign(5, 1.0);
    request.stragglers = 1;
    request.partitions = 20;
    const CodeForm form = BuildCode(name, request).value();
    std::vector<std::vector<float>> gradients = Gradients(form, kLength, 1);
    std::vector<double> wanted(kLength, 0);
    for (auto& gradient : gradients) {
      for (size_t t = 0; t < kLength; ++t) {
        gradient[t] = (std::abs(gradient[t]) + 1) * 1e22f;
        wanted[t] += gradient[t];
      }
    }
    const std::vector<std::vector<float>> answers = Answers(form, gradients);
    const auto parallel = MakeSerialParallelFor();
    StreamDecoder decoder(form, kLength, kLength, *parallel);
    for (RowId row = 1; row < 5; ++row) {
      AlignedVector values(answers[row].begin(), answers[row].end());
      ASSERT_TRUE(decoder.AddSlice(row, 0, values, 1e30).ok());
    }
    std::vector<float> sum(kLength);
    ASSERT_TRUE(decoder.Finish(sum).ok());
    for (size_t t = 0; t < kLength; ++t) {
      ASSERT_NEAR(sum[t], wanted[t], 1e-5 * wanted[t]) << name << ' ' << t;
    }
  }
}

// Values between the noise of one answer and that of answers whose terms are so much larger.
TEST(NoiseFloor, GrowsWithTheAmplification) {
  constexpr size_t kLength = 200;
  constexpr uint32_t kWorkers = 16;
  constexpr uint32_t kMissing = 4;
  constexpr size_t kThere = kWorkers - kMissing;
  CodeRequest request;
  request.speeds.assign(kWorkers, 1.0);
  request.stragglers = kMissing;
  request.partitions = kWorkers;
  const Result<CodeForm> form = BuildCode("rs", request);
  ASSERT_TRUE(form.ok());
  // Who is missing where terms are largest.
  std::vector<bool> present;
  double amplification = 0;
  Random random(1, Stream::kTest);
  for (const auto& missing : StragglerSets(kWorkers, kMissing, 5000, random)) {
    std::vector<bool> there(kWorkers, true);
    for (const WorkerId worker : missing) there[worker] = false;
    const auto solved = SolveClosed(*form, there);
    if (!solved.ok() || solved->amplification <= amplification) continue;
    amplification = solved->amplification;
    present = there;
  }
  ASSERT_GT(amplification, 3);
  std::vector<std::vector<float>> gradients = Gradients(*form, kLength, 0);
  const std::vector<std::vector<float>> answers = Answers(*form, gradients);
  const double noise =
      std::sqrt(RoundingOfPairs(1, kThere) * RoundingOfPairs(amplification, kThere));
  for (size_t t = 0; t < kLength; t += 2) {
    double energy = 0;
    for (RowId row = 0; row < kWorkers; ++row) {
      if (present[row]) energy += std::norm(Complex(answers[row][t], answers[row][t + 1]));
    }
    gradients[0][t + 1] = static_cast<float>(noise * std::sqrt(energy));
  }
  const std::vector<std::vector<float>> small = Answers(*form, gradients);
  const auto parallel = MakeSerialParallelFor();
  StreamDecoder decoder(*form, kLength, kLength, *parallel);
  for (RowId row = 0; row < kWorkers; ++row) {
    if (!present[row]) continue;
    AlignedVector values(small[row].begin(), small[row].end());
    EXPECT_TRUE(decoder.AddSlice(row, 0, values, 1e9).ok());
  }
  std::vector<float> sum(kLength);
  ASSERT_TRUE(decoder.Finish(sum).ok());
  EXPECT_EQ(decoder.amplification(), amplification);
  for (size_t t = 1; t < kLength; t += 2) EXPECT_EQ(sum[t], 0) << t;
}

TEST(NoiseFloor, ZeroesOnlyBelowTheGivenNoise) {
  // Beyond every vector length, and one pair more.
  for (const size_t repeats : {1, 7, 50}) {
    std::vector<float> values;
    std::vector<float> energy;
    std::vector<float> wanted;
    for (size_t i = 0; i < repeats; ++i) {
      values.insert(values.end(), {1.0F, 1e-5F, 1.0F, 1e-8F, 0.0F, 1e-30F});
      energy.insert(energy.end(), {1.0F, 1.0F, 0.0F});
      wanted.insert(wanted.end(), {1.0F, 1e-5F, 1.0F, 0.0F, 0.0F, 1e-30F});
    }
    reference::ZeroBelow(RoundingOfPairs(1, 1), energy, values);
    EXPECT_EQ(values, wanted);
  }
}

}  // namespace
}  // namespace motley
