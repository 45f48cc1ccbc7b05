// SPDX-License-Identifier: Apache-2.0
#include "profiles/device_estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "profiles/cost_model.h"

namespace motley {
namespace {

DeviceProfile Profile(double overhead, double speed, double knee = 0) {
  DeviceProfile device;
  device.overhead_seconds = overhead;
  device.samples_per_second = speed;
  device.knee_samples = knee;
  return device;
}

// A device that takes what its profile says, with noise.
class NoisyDevice {
 public:
  NoisyDevice(const DeviceProfile& truth, double noise, uint64_t seed)
      : truth_(truth), noise_(noise), random_(seed, Stream::kTest) {}

  void SlowDown(double factor) { factor_ *= factor; }
  // `from` to `to` samples.
  Drift Work(DeviceEstimator& estimator, double from, double to) {
    const double samples = from + (to - from) * random_.NextDouble();
    const double noise = std::max(0.2, 1 + noise_ * random_.Normal());
    const bool slow = random_.Chance(truth_.tail_probability);
    const double tail = slow ? truth_.tail_factor : 1;
    return estimator.Add(samples,
                         FromSeconds(SecondsFor(truth_, samples) * factor_ * noise * tail));
  }

 private:
  DeviceProfile truth_;
  double noise_;
  double factor_ = 1;
  Random random_;
};

TEST(DeviceEstimator, IsThePriorAtFirst) {
  const DeviceEstimator estimator(Profile(0.01, 100));
  EXPECT_EQ(estimator.profile(), Profile(0.01, 100));
  EXPECT_DOUBLE_EQ(estimator.SecondsFor(50), 0.51);
}

TEST(DeviceEstimator, IgnoresWhatSaysNothing) {
  DeviceEstimator estimator(Profile(0.01, 100));
  estimator.Add(0, std::chrono::seconds(1));
  estimator.Add(-5, std::chrono::seconds(1));
  estimator.Add(std::numeric_limits<double>::quiet_NaN(), std::chrono::seconds(1));
  estimator.Add(std::numeric_limits<double>::infinity(), std::chrono::seconds(1));
  estimator.Add(10, Duration::zero());
  EXPECT_EQ(estimator.measurements(), 0u);
  EXPECT_EQ(estimator.profile(), Profile(0.01, 100));
}

TEST(DeviceEstimator, TellsOverheadFromWorkWhereSizesVary) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    DeviceEstimator estimator(Profile(0.15, 130));
    NoisyDevice device(Profile(0.1, 100), 0.02, seed);
    for (int i = 0; i < 300; ++i) device.Work(estimator, 2, 60);
    EXPECT_NEAR(estimator.profile().overhead_seconds, 0.1, 0.01) << "seed " << seed;
    EXPECT_NEAR(estimator.profile().samples_per_second, 100, 5) << "seed " << seed;
    EXPECT_NEAR(estimator.profile().jitter, 0.02, 0.01) << "seed " << seed;
  }
}

TEST(DeviceEstimator, AnOverheadThatThePriorLacksIsLearned) {
  DeviceEstimator estimator(Profile(0, 100));
  NoisyDevice device(Profile(0.2, 100), 0.02, 3);
  for (int i = 0; i < 300; ++i) device.Work(estimator, 5, 60);
  EXPECT_NEAR(estimator.profile().overhead_seconds, 0.2, 0.02);
}

// The split stays the prior's where all pieces are of one size, and their time is right.
TEST(DeviceEstimator, KeepsThePriorForWhatTheDataCannotTell) {
  DeviceEstimator estimator(Profile(0.1, 100));
  NoisyDevice device(Profile(0.15, 100 / 1.5), 0.05, 5);
  for (int i = 0; i < 100000; ++i) device.Work(estimator, 10, 10);
  EXPECT_NEAR(estimator.SecondsFor(10), 0.3, 0.02);
  EXPECT_NEAR(estimator.profile().overhead_seconds, 0.15, 0.03);
}

TEST(DeviceEstimator, StaysSaneWhereSizesHardlyVary) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    DeviceEstimator estimator(Profile(0.1, 100));
    NoisyDevice device(Profile(0.1, 100), 0.1, seed);
    for (int i = 0; i < 20000; ++i) device.Work(estimator, 10, 10.1);
    EXPECT_NEAR(estimator.SecondsFor(10), 0.2, 0.02) << "seed " << seed;
    // Both ends of what could explain these pieces: all overhead, or none.
    EXPECT_GE(estimator.SecondsFor(100), 0.2 * 0.9) << "seed " << seed;
    EXPECT_LE(estimator.SecondsFor(100), 2 * 1.1) << "seed " << seed;
    EXPECT_GE(estimator.profile().overhead_seconds, 0) << "seed " << seed;
  }
}

TEST(DeviceEstimator, RespectsTheKnee) {
  DeviceEstimator estimator(Profile(0.1, 80, 32));
  NoisyDevice device(Profile(0.1, 100, 32), 0.02, 7);
  for (int i = 0; i < 300; ++i) device.Work(estimator, 1, 100);
  EXPECT_NEAR(estimator.SecondsFor(1), 0.42, 0.02);
  EXPECT_NEAR(estimator.SecondsFor(100), 1.1, 0.04);
}

TEST(DeviceEstimator, OneAccidentChangesLittle) {
  DeviceEstimator estimator(Profile(0.1, 100));
  NoisyDevice device(Profile(0.1, 100), 0.02, 9);
  for (int i = 0; i < 200; ++i) device.Work(estimator, 5, 50);
  const double before = estimator.SecondsFor(20);
  EXPECT_EQ(estimator.Add(20, std::chrono::seconds(60)), Drift::kNone);
  EXPECT_NEAR(estimator.SecondsFor(20), before, 0.01 * before);
}

// The stated rate is one in 500,000: over a million, two are to be expected.
TEST(DeviceEstimator, SeldomSeesAChangeThatIsNone) {
  uint64_t alarms = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    DeviceEstimator estimator(Profile(0.1, 100));
    NoisyDevice device(Profile(0.1, 100), 0.1, seed);
    for (int i = 0; i < 100000; ++i) device.Work(estimator, 5, 50);
    EXPECT_LE(estimator.drifts(), 2u) << "seed " << seed;
    alarms += estimator.drifts();
  }
  EXPECT_LE(alarms, 5u);
}

TEST(DeviceEstimator, FindsAQuarterWithinTwentySteps) {
  for (const double factor : {1.25, 0.75}) {
    int steps = 0;
    for (uint64_t seed = 1; seed <= 300; ++seed) {
      DeviceEstimator estimator(Profile(0.1, 100));
      NoisyDevice device(Profile(0.1, 100), 0.1, seed);
      for (int i = 0; i < 500; ++i) device.Work(estimator, 5, 50);
      const uint64_t before = estimator.drifts();
      device.SlowDown(factor);
      int taken = 1;
      Drift seen = Drift::kNone;
      for (; taken < 20 && seen == Drift::kNone; ++taken) seen = device.Work(estimator, 5, 50);
      EXPECT_EQ(seen, factor > 1 ? Drift::kSlower : Drift::kFaster) << "seed " << seed;
      EXPECT_EQ(estimator.drifts(), before + 1) << "seed " << seed;
      steps += taken - 1;
      for (int i = 0; i < 30; ++i) device.Work(estimator, 5, 50);
      EXPECT_NEAR(estimator.SecondsFor(30) / SecondsFor(Profile(0.1, 100), 30), factor,
                  0.1 * factor)
          << "seed " << seed;
    }
    EXPECT_LE(steps / 300.0, 9) << factor;
  }
}

TEST(DeviceEstimator, KnowsAFiveFoldSlowdownAfterSixAnswers) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    DeviceEstimator estimator(Profile(0.1, 100));
    NoisyDevice device(Profile(0.1, 100), 0.05, seed);
    for (int i = 0; i < 100; ++i) device.Work(estimator, 5, 50);
    device.SlowDown(5);
    for (int i = 0; i < 6; ++i) device.Work(estimator, 5, 50);
    EXPECT_NEAR(estimator.SecondsFor(30), 2, 0.3) << "seed " << seed;
  }
}

TEST(DeviceEstimator, AWrongGuessIsForgotten) {
  DeviceEstimator estimator(Profile(0, 1000000));
  NoisyDevice device(Profile(0.01, 100), 0.1, 2);
  for (int i = 0; i < 50; ++i) device.Work(estimator, 5, 50);
  EXPECT_NEAR(estimator.SecondsFor(30), 0.31, 0.03);
}

TEST(DeviceEstimator, RareSlowPiecesAreTheTail) {
  DeviceProfile truth = Profile(0.1, 100);
  truth.tail_probability = 0.02;
  truth.tail_factor = 8;
  DeviceEstimator estimator(Profile(0.1, 100));
  NoisyDevice device(truth, 0.1, 4);
  for (int i = 0; i < 20000; ++i) device.Work(estimator, 5, 50);
  const DeviceProfile learned = estimator.profile();
  EXPECT_NEAR(learned.tail_probability, 0.02, 0.01);
  EXPECT_NEAR(learned.tail_factor, 8, 1);
  EXPECT_NEAR(learned.jitter, 0.1, 0.03);
  EXPECT_NEAR(learned.samples_per_second, 100, 10);
  EXPECT_LE(estimator.drifts(), 2u);
}

}  // namespace
}  // namespace motley
