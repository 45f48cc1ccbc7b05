// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/noise_floor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "coding/decode/stream_decoder.h"
#include "coding/gradient_code.h"
#include "coding/kernels/combine.h"
#include "coding/placement/straggler_sets.h"
#include "fmt/core.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

// Gradients with odd coordinates `odd` times as large as the even ones.
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

// The squares of these answers do not fit into a float.
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

// Uses values between the noise of one answer and the noise of answers with terms that much larger.
TEST(NoiseFloor, GrowsWithTheAmplification) {
  constexpr size_t kLength = 200;
  constexpr uint32_t kWorkers = 16;
  constexpr uint32_t kMissing = 4;
  constexpr size_t kThere = kWorkers - kMissing;
  constexpr double kNoNorm = 1e30;  // Larger than the norm for this code.
  CodeRequest request;
  request.speeds.assign(kWorkers, 1.0);
  request.stragglers = kMissing;
  request.partitions = kWorkers;
  const Result<CodeForm> form = BuildCode("rs", request);
  ASSERT_TRUE(form.ok());
  // The missing workers that make terms largest.
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
  const double noise = std::sqrt(RoundingOfPairs(1, kThere, kNoNorm) *
                                 RoundingOfPairs(amplification, kThere, kNoNorm));
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

// Every second coordinate is exactly zero, and so are all parts but the first. Returns the noise
// that float arithmetic leaves there without the floor, relative to the floor.
double LargestNoise(const char* code, const CodeRequest& request) {
  const CodeForm form = MustBuild(code, request);
  EXPECT_EQ(form.field, Field::kComplexPacked) << code;
  const size_t piece = 100;
  CodedJob job = MakeJob(form, piece * form.parts, 1);
  const auto zero = [&](size_t t) { return t >= piece || t % 2 == 1; };
  for (std::vector<float>& gradient : job.gradients) {
    for (size_t t = 0; t < gradient.size(); ++t) gradient[t] = zero(t) ? 0 : gradient[t];
  }
  Encode(form, job);
  double most = 0;
  Random random(1, Stream::kTest);
  for (const auto& set : StragglerSets(form.workers, form.stragglers, 100, random)) {
    const auto solved = SolveClosed(form, Without(form, set), {.tolerance = 1});
    EXPECT_TRUE(solved.ok()) << code;
    const std::vector<float> sum = Decode(form, job, solved->a);
    const size_t answers = form.workers - set.size();
    const double floor =
        RoundingOfPairs(solved->amplification, answers, LargestNorm(solved->a, form.parts));
    for (size_t t = 0; t < sum.size(); ++t) {
      double energy = 0;
      const size_t pair = t % piece / 2 * 2;
      for (RowId row = 0; row < form.workers; ++row) {
        if (std::find(set.begin(), set.end(), row) != set.end()) continue;
        energy += std::norm(Complex(job.answers[row][pair], job.answers[row][pair + 1]));
      }
      if (zero(t)) most = std::max(most, std::abs(sum[t]) / (floor * std::sqrt(energy)));
    }
  }
  return most;
}

TEST(NoiseFloor, NoiseIsFarBelowItWithEveryCode) {
  for (const auto& [n, s] : {std::pair{4U, 1U}, {16U, 3U}, {32U, 3U}, {64U, 6U}}) {
    CodeRequest unequal = EqualRequest(n, s, 4 * n);
    for (uint32_t i = 0; i < n; ++i) unequal.speeds[i] = 1 + i % 4;
    EXPECT_LE(LargestNoise("rs", EqualRequest(n, s, 4 * n)), 0.5) << n;
    EXPECT_LE(LargestNoise("heterogeneous", unequal), 0.5) << n;
  }
  for (const auto& [n, s, m] : {std::array{16U, 2U, 2U}, {16U, 4U, 4U}, {64U, 4U, 4U}}) {
    CodeRequest parted = EqualRequest(n, s, 4 * n);
    parted.parts = m;
    EXPECT_LE(LargestNoise("short", parted), 0.5) << n;
  }
}

// Answers of partial-coded have large coefficients and small weights, so their floor follows the
// weights. (Without this, simulator seed 88005730 failed.)
TEST(NoiseFloor, FollowsTheWeightsWhereTheyAreSmall) {
  const std::vector<Complex> a = {0.5, 1, 0.5, 0.1, 0.5, 0, 0.5, 0};  // Four rows, two parts.
  EXPECT_DOUBLE_EQ(LargestNorm(a, 2), std::sqrt(1.01));
  EXPECT_DOUBLE_EQ(LargestNorm(std::span(a).first(1), 1), 0.5);
  EXPECT_DOUBLE_EQ(RoundingOfPairs(2.5, 4, LargestNorm(a, 2)), 0x1p-19 * std::sqrt(1.01));
  EXPECT_DOUBLE_EQ(RoundingOfPairs(0.25, 4, LargestNorm(a, 2)), 0x1p-19 * 0.5);
}

// Checks docs/decisions/0005: median and largest value over sets of missing workers.
TEST(NoiseFloor, CostsWhatTheDecisionSays) {
  struct Price {
    uint32_t n, s;
    double median, worst;
  };
  for (const Price& price :
       {Price{4, 1, 4.7e-6, 4.7e-6}, Price{8, 1, 5.5e-6, 5.5e-6}, Price{16, 3, 8.0e-6, 2.1e-5},
        Price{32, 3, 1.6e-5, 2.5e-5}, Price{64, 6, 1.7e-5, 1.2e-4}}) {
    const CodeForm form = MustBuild("rs", EqualRequest(price.n, price.s, 4 * price.n));
    std::vector<double> floors;
    Random random(1, Stream::kTest);
    for (const auto& set : StragglerSets(form.workers, form.stragglers, 300, random)) {
      const auto solved = SolveClosed(form, Without(form, set), {.tolerance = 1});
      ASSERT_TRUE(solved.ok());
      floors.push_back(
          RoundingOfPairs(solved->amplification, price.n - price.s, LargestNorm(solved->a, 1)));
    }
    std::sort(floors.begin(), floors.end());
    RecordProperty(fmt::format("n{}_s{}", price.n, price.s),
                   fmt::format("{:.1e} {:.1e}", floors[floors.size() / 2], floors.back()));
    EXPECT_NEAR(floors[floors.size() / 2], price.median, 0.1 * price.median) << price.n;
    EXPECT_NEAR(floors.back(), price.worst, 0.1 * price.worst) << price.n;
  }
}

TEST(NoiseFloor, ZeroesOnlyBelowTheGivenNoise) {
  // Beyond every vector length, plus one pair.
  for (const size_t repeats : {1, 7, 50}) {
    std::vector<float> values;
    std::vector<float> energy;
    std::vector<float> wanted;
    for (size_t i = 0; i < repeats; ++i) {
      values.insert(values.end(), {1.0F, 1e-5F, 1.0F, 1e-8F, 0.0F, 1e-30F});
      energy.insert(energy.end(), {1.0F, 1.0F, 0.0F});
      wanted.insert(wanted.end(), {1.0F, 1e-5F, 1.0F, 0.0F, 0.0F, 1e-30F});
    }
    reference::ZeroBelow(RoundingOfPairs(1, 1, 1), energy, values);
    EXPECT_EQ(values, wanted);
  }
}

}  // namespace
}  // namespace motley
