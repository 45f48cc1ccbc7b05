// SPDX-License-Identifier: Apache-2.0
#include "profiles/cost_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"

namespace motley {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

TEST(CostModel, IsOverheadAndTimePerSample) {
  const CostCurve curve = {.overhead_seconds = 0.5, .seconds_per_sample = 0.01};
  EXPECT_EQ(SecondsFor(curve, 0), 0);
  EXPECT_EQ(SecondsFor(curve, -1), 0);
  EXPECT_DOUBLE_EQ(SecondsFor(curve, 100), 1.5);
  EXPECT_DOUBLE_EQ(SamplesWithin(curve, 1.5), 100);
  EXPECT_EQ(SamplesWithin(curve, 0.5), 0);
  EXPECT_EQ(SamplesWithin(curve, 0), 0);
  EXPECT_EQ(SamplesWithin(curve, -3), 0);
  EXPECT_EQ(SamplesWithin(curve, kNever), kNever);
}

TEST(CostModel, IsFlatUpToTheKnee) {
  const CostCurve curve = {.overhead_seconds = 1, .seconds_per_sample = 0.01, .knee_samples = 200};
  EXPECT_DOUBLE_EQ(SecondsFor(curve, 1), 3);
  EXPECT_DOUBLE_EQ(SecondsFor(curve, 200), 3);
  EXPECT_DOUBLE_EQ(SecondsFor(curve, 300), 4);
  EXPECT_EQ(SamplesWithin(curve, 2.99), 0);
  EXPECT_DOUBLE_EQ(SamplesWithin(curve, 3), 200);
  EXPECT_DOUBLE_EQ(SamplesWithin(curve, 4), 300);
}

TEST(CostModel, EndsWhereMemoryDoes) {
  CostCurve curve = {.seconds_per_sample = 0.01, .most_samples = 50};
  EXPECT_DOUBLE_EQ(SecondsFor(curve, 50), 0.5);
  EXPECT_EQ(SecondsFor(curve, 51), kNever);
  EXPECT_EQ(SamplesWithin(curve, 100), 50);
  curve.knee_samples = 80;  // Never full, and as slow as if it were.
  EXPECT_DOUBLE_EQ(SecondsFor(curve, 50), 0.8);
  EXPECT_EQ(SamplesWithin(curve, 0.79), 0);
  EXPECT_EQ(SamplesWithin(curve, 0.8), 50);
}

TEST(CostModel, TimesAndSamplesAreInverse) {
  Random random(1, Stream::kTest);
  for (int i = 0; i < 1000; ++i) {
    CostCurve curve;
    curve.overhead_seconds = random.NextDouble();
    curve.seconds_per_sample = 0.001 + random.NextDouble();
    curve.knee_samples = 100 * random.NextDouble();
    curve.most_samples = 300 * random.NextDouble();
    const double seconds = 400 * random.NextDouble();
    const double samples = SamplesWithin(curve, seconds);
    EXPECT_LE(SecondsFor(curve, samples), seconds * (1 + 1e-12));
    const double more = std::min(samples * 1.001 + 0.001, curve.most_samples);
    if (more > samples) {
      EXPECT_GT(SecondsFor(curve, more), seconds);
    }
  }
}

TEST(CostModel, ComesFromAProfile) {
  DeviceProfile device;
  device.samples_per_second = 50;
  device.overhead_seconds = 0.1;
  EXPECT_DOUBLE_EQ(SecondsFor(device, 100), 2.1);
  EXPECT_DOUBLE_EQ(SamplesWithin(device, 2.1), 100);
  EXPECT_EQ(MeanFactor(device), 1);
  device.max_samples = 64;
  device.tail_probability = 0.01;
  device.tail_factor = 11;
  EXPECT_EQ(SamplesWithin(device, 1e9), 64);
  EXPECT_DOUBLE_EQ(MeanFactor(device), 1.1);
}

TEST(CostModel, MemoryIsForTheModelFirst) {
  EXPECT_EQ(SamplesThatFit(1000, {.fixed_bytes = 300, .bytes_per_sample = 200}), 3);
  EXPECT_EQ(SamplesThatFit(100, {.fixed_bytes = 300, .bytes_per_sample = 200}), 0);
  EXPECT_EQ(SamplesThatFit(0, {.fixed_bytes = 300, .bytes_per_sample = 200}), kNever);
  EXPECT_EQ(SamplesThatFit(1000, {.fixed_bytes = 300}), kNever);
}

TEST(DeviceIdentity, ChangesWithTheDeviceAndNotWithItsMeasurement) {
  DeviceProfile device;
  device.memory_bytes = 8;
  device.hardware = {.vendor = "V", .model = "M", .driver = "D", .cores = 2, .threads = 4};
  const std::string identity = DeviceIdentity(device);
  EXPECT_EQ(identity.size(), 16u);
  device.name = "another name";
  device.samples_per_second = 5;
  device.hardware.bytes_per_second = 1e9;
  EXPECT_EQ(DeviceIdentity(device), identity);
  const std::function<void(DeviceProfile&)> changes[] = {
      [](DeviceProfile& d) { d.kind = "cuda"; },
      [](DeviceProfile& d) { d.memory_bytes = 9; },
      [](DeviceProfile& d) { d.hardware.model = "M2"; },
      [](DeviceProfile& d) { d.hardware.driver = "D2"; },
      [](DeviceProfile& d) { d.hardware.cores = 3; },
      [](DeviceProfile& d) { d.hardware.core_kinds = "1+1"; },
  };
  for (const auto& change : changes) {
    DeviceProfile other = device;
    change(other);
    EXPECT_NE(DeviceIdentity(other), identity);
  }
}

}  // namespace
}  // namespace motley
