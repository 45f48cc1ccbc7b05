// SPDX-License-Identifier: Apache-2.0
#include "sim/world/sim_device.h"

#include <gtest/gtest.h>

#include "base/loop/virtual_loop.h"

namespace motley {
namespace {

class SimDeviceTest : public testing::Test {
 protected:
  void Make(DeviceProfile profile) {
    auto device = SimDevice::Create(loop_, profile, Random(1, Stream::kTest));
    ASSERT_TRUE(device.ok()) << device.status().ToString();
    device_ = *std::move(device);
  }
  // Returns the seconds until work of this many samples is reported.
  double Take(double samples) {
    const Time start = loop_.Now();
    bool done = false;
    device_->Submit(
        samples, [] { return Status::Ok(); }, [&](Status) { done = true; });
    EXPECT_TRUE(loop_.RunUntil([&] { return done; }));
    return ToSeconds(loop_.Now() - start);
  }

  VirtualLoop loop_;
  std::unique_ptr<SimDevice> device_;
};

TEST_F(SimDeviceTest, TakesItsOverheadPlusSamplesOverSpeed) {
  Make({.samples_per_second = 200, .overhead_seconds = 0.25});
  EXPECT_NEAR(Take(100), 0.75, 1e-9);
  EXPECT_NEAR(Take(0), 0, 1e-9);
}

TEST_F(SimDeviceTest, PiecesBelowTheKneeTakeAsLongAsIt) {
  Make({.samples_per_second = 100, .overhead_seconds = 0.5, .knee_samples = 50});
  EXPECT_NEAR(Take(1), 1, 1e-9);
  EXPECT_NEAR(Take(50), 1, 1e-9);
  EXPECT_NEAR(Take(100), 1.5, 1e-9);
  EXPECT_NEAR(Take(0), 0, 1e-9);
}

TEST_F(SimDeviceTest, SomePiecesAreOfTheTail) {
  Make({.samples_per_second = 100, .tail_probability = 0.1, .tail_factor = 7});
  int slow = 0;
  for (int i = 0; i < 1000; ++i) {
    const double seconds = Take(100);
    EXPECT_NEAR(seconds, seconds > 4 ? 7 : 1, 1e-9);
    slow += seconds > 4 ? 1 : 0;
  }
  EXPECT_NEAR(slow, 100, 30);
}

TEST_F(SimDeviceTest, WhoSharesProcessorsWaitsForTheOthers) {
  const auto shared = std::make_shared<SharedProcessors>();
  shared->count = 2;
  std::vector<std::unique_ptr<SimDevice>> devices;
  std::vector<double> done;
  for (int i = 0; i < 4; ++i) {
    auto device =
        SimDevice::Create(loop_, {.samples_per_second = 100}, Random(1, Stream::kTest), shared);
    ASSERT_TRUE(device.ok());
    devices.push_back(*std::move(device));
    devices.back()->Submit(
        100, [] { return Status::Ok(); },
        [&](Status) { done.push_back(ToSeconds(loop_.Now() - Time())); });
  }
  ASSERT_TRUE(loop_.RunUntil([&] { return done.size() == 4; }));
  EXPECT_NEAR(done[1] - done[0], 0, 1e-9) << "each of two pieces has a processor";
  EXPECT_NEAR(done[2] / done[0], 1.5, 1e-9);
  EXPECT_NEAR(done[3] / done[0], 2, 1e-9);
  EXPECT_EQ(shared->busy, 0u);
}

TEST_F(SimDeviceTest, ASlowPhaseMultipliesTheTime) {
  Make({.samples_per_second = 100});
  device_->SetSlowness(4);
  EXPECT_NEAR(Take(100), 4, 1e-9);
  device_->SetSlowness(1);
  EXPECT_NEAR(Take(100), 1, 1e-9);
}

TEST_F(SimDeviceTest, JitterSpreadsTimesAroundTheMean) {
  Make({.samples_per_second = 100, .jitter = 0.1});
  double sum = 0, least = 1e9, most = 0;
  for (int i = 0; i < 400; ++i) {
    const double seconds = Take(100);
    sum += seconds;
    least = std::min(least, seconds);
    most = std::max(most, seconds);
  }
  EXPECT_NEAR(sum / 400, 1, 0.03);
  EXPECT_LT(least, 0.85);
  EXPECT_GT(most, 1.15);
}

}  // namespace
}  // namespace motley
