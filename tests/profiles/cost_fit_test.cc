// SPDX-License-Identifier: Apache-2.0
#include "profiles/cost_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "profiles/cost_model.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

// Sizes 1, 2, 4, ... 2^(count - 1), `repeats` times each.
std::vector<SizeMeasurement> Measured(const DeviceProfile& truth, int count, int repeats,
                                      uint64_t seed) {
  Random random(seed, Stream::kTest);
  std::vector<SizeMeasurement> sizes;
  for (int i = 0; i < count; ++i) {
    SizeMeasurement size{std::ldexp(1, i), {}};
    for (int j = 0; j < repeats; ++j) {
      const double noise = std::max(0.2, 1 + truth.jitter * random.Normal());
      const bool slow = random.Chance(truth.tail_probability);
      size.seconds.push_back(SecondsFor(truth, size.samples) * noise *
                             (slow ? truth.tail_factor : 1));
    }
    sizes.push_back(size);
  }
  return sizes;
}

DeviceProfile Truth(double overhead, double speed, double knee, double jitter) {
  DeviceProfile device;
  device.overhead_seconds = overhead;
  device.samples_per_second = speed;
  device.knee_samples = knee;
  device.jitter = jitter;
  return device;
}

TEST(CostFit, FindsOverheadAndSpeed) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const auto fit = FitCost(Measured(Truth(1e-3, 5e4, 0, 0.05), 13, 15, seed));
    ASSERT_TRUE(fit.ok());
    EXPECT_NEAR(fit->overhead_seconds, 1e-3, 5e-5) << "seed " << seed;
    EXPECT_NEAR(fit->samples_per_second, 5e4, 2.5e3) << "seed " << seed;
    EXPECT_EQ(fit->knee_samples, 0) << "seed " << seed;
    EXPECT_NEAR(fit->jitter, 0.05, 0.015) << "seed " << seed;
    EXPECT_LT(fit->worst_error, 0.1) << "seed " << seed;
  }
}

TEST(CostFit, FindsAKnee) {
  for (const double knee : {8.0, 64.0, 300.0}) {
    for (uint64_t seed = 1; seed <= 30; ++seed) {
      const DeviceProfile truth = Truth(2e-4, 1e5, knee, 0.05);
      const auto fit = FitCost(Measured(truth, 14, 15, seed));
      ASSERT_TRUE(fit.ok());
      EXPECT_NEAR(std::log2(fit->knee_samples / knee), 0, 0.8) << knee << ", seed " << seed;
      DeviceProfile fitted;
      fit->ApplyTo(fitted);
      for (double samples = 1; samples <= 8192; samples *= 1.5) {
        const double ratio = SecondsFor(fitted, samples) / SecondsFor(truth, samples);
        EXPECT_NEAR(ratio, 1, 0.25) << knee << ", seed " << seed << ", " << samples;
      }
    }
  }
}

TEST(CostFit, FindsTheTail) {
  DeviceProfile truth = Truth(1e-3, 5e4, 0, 0.05);
  truth.tail_probability = 0.03;
  truth.tail_factor = 6;
  const auto fit = FitCost(Measured(truth, 13, 100, 5));
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->tail_probability, 0.03, 0.012);
  EXPECT_NEAR(fit->tail_factor, 6, 0.5);
  EXPECT_NEAR(fit->jitter, 0.05, 0.01);
}

TEST(CostFit, ASteadyDeviceHasNoTail) {
  const auto fit = FitCost(Measured(Truth(0, 100, 0, 0), 5, 1, 1));
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->samples_per_second, 100, 1e-9);
  EXPECT_NEAR(fit->overhead_seconds, 0, 1e-12);
  EXPECT_EQ(fit->jitter, 0);
  EXPECT_EQ(fit->tail_probability, 0);
  EXPECT_EQ(fit->tail_factor, 1);
}

// Small pieces below the line: an overhead cannot be negative.
TEST(CostFit, OverheadsAreNeverNegative) {
  std::vector<SizeMeasurement> sizes = {{1, {0.001}}, {10, {0.1}}, {100, {1}}, {1000, {10}}};
  const auto fit = FitCost(sizes);
  ASSERT_TRUE(fit.ok());
  EXPECT_GE(fit->overhead_seconds, 0);
  EXPECT_GT(fit->samples_per_second, 0);
}

TEST(CostFit, RefusesWhatSaysNothing) {
  const std::vector<std::vector<SizeMeasurement>> cases = {
      {},
      {{1, {1}}},
      {{1, {1}}, {1, {2}}},
      {{0, {1}}, {1, {2}}},
      {{1, {}}, {2, {2}}},
      {{1, {0}}, {2, {2}}},
      {{1, {NAN}}, {2, {2}}},
      {{1, {1}}, {INFINITY, {2}}},
  };
  for (const auto& sizes : cases) {
    EXPECT_EQ(FitCost(sizes).code(), StatusCode::kInvalidArgument);
  }
}

TEST(CostFit, TimesThatDoNotGrowAreTold) {
  const std::vector<SizeMeasurement> falling = {{1, {1}}, {2, {0.5}}, {4, {0.25}}, {8, {0.125}}};
  const std::vector<SizeMeasurement> flat = {{1, {1}}, {2, {1}}, {4, {1}}, {8, {1}}};
  for (const auto& sizes : {falling, flat}) {
    const auto fit = FitCost(sizes);
    EXPECT_EQ(fit.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(fit.status().message(), HasSubstr("measure larger pieces"));
  }
}

}  // namespace
}  // namespace motley
