// SPDX-License-Identifier: Apache-2.0
#include "profiles/speed_estimator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace motley {
namespace {

// What `samples` take at `speed`, with relative noise.
void Feed(SpeedEstimator& estimator, double speed, int times, double noise = 0, uint64_t seed = 1) {
  Random random(seed, Stream::kTest);
  for (int i = 0; i < times; ++i) {
    const double factor = std::max(0.1, 1 + noise * random.Normal());
    estimator.Add(100, FromSeconds(100 / speed * factor));
  }
}

TEST(SpeedEstimator, KnowsNothingAtFirst) {
  const SpeedEstimator estimator;
  EXPECT_EQ(estimator.samples_per_second(), 0);
  EXPECT_EQ(estimator.measurements(), 0u);
}

TEST(SpeedEstimator, StartsFromTheGuess) {
  EXPECT_DOUBLE_EQ(SpeedEstimator(250).samples_per_second(), 250);
  EXPECT_EQ(SpeedEstimator(-1).samples_per_second(), 0);
  EXPECT_EQ(SpeedEstimator(std::numeric_limits<double>::quiet_NaN()).samples_per_second(), 0);
  EXPECT_EQ(SpeedEstimator(std::numeric_limits<double>::infinity()).samples_per_second(), 0);
}

TEST(SpeedEstimator, TheFirstMeasurementCountsFully) {
  SpeedEstimator estimator;
  estimator.Add(50, std::chrono::milliseconds(500));
  EXPECT_DOUBLE_EQ(estimator.samples_per_second(), 100);
}

TEST(SpeedEstimator, IgnoresWhatSaysNothing) {
  SpeedEstimator estimator(100);
  estimator.Add(0, std::chrono::seconds(1));
  estimator.Add(10, Duration::zero());
  estimator.Add(10, std::chrono::seconds(-1));
  EXPECT_EQ(estimator.measurements(), 0u);
  EXPECT_DOUBLE_EQ(estimator.samples_per_second(), 100);
}

TEST(SpeedEstimator, CorrectsAGuessThatIsALittleOff) {
  SpeedEstimator estimator(130);
  Feed(estimator, 100, 10);
  EXPECT_NEAR(estimator.samples_per_second(), 100, 3);
}

TEST(SpeedEstimator, AGuessCountsAsOneMeasurement) {
  SpeedEstimator estimator(130);
  Feed(estimator, 100, 1);
  EXPECT_NEAR(estimator.samples_per_second(), 2 / (1.0 / 130 + 1.0 / 100), 1e-6);
}

// Be the noise however small: by half as much again nobody is another machine.
TEST(SpeedEstimator, FollowsWhatIsOffALittleAtOnce) {
  SpeedEstimator estimator(100);
  Feed(estimator, 100, 200);
  Feed(estimator, 75, 1);
  EXPECT_NEAR(estimator.samples_per_second(), 93.75, 0.1);
}

TEST(SpeedEstimator, StaysNearTheTruthUnderNoise) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SpeedEstimator estimator(100);
    Feed(estimator, 100, 100, 0.15, seed);
    EXPECT_NEAR(estimator.samples_per_second(), 100, 20) << "seed " << seed;
  }
}

TEST(SpeedEstimator, OneAccidentChangesNothing) {
  SpeedEstimator estimator(100);
  Feed(estimator, 100, 10);
  estimator.Add(100, std::chrono::seconds(30));
  EXPECT_NEAR(estimator.samples_per_second(), 100, 1e-6);
  Feed(estimator, 100, 1);
  estimator.Add(100, std::chrono::seconds(30));
  estimator.Add(100, std::chrono::seconds(30));
  EXPECT_NEAR(estimator.samples_per_second(), 100, 1e-6);
}

// A hiccup once made it believe the slow speed for ever, and without one the fast one.
TEST(SpeedEstimator, WhoIsSlowInEveryOtherStepHasTheMeanAsItsSpeed) {
  for (const double factor : {2.0, 5.0}) {
    for (const bool hiccup : {false, true}) {
      SpeedEstimator estimator(100);
      Feed(estimator, 100, 20, 0.05);
      for (int i = 0; i < 30; ++i) {
        Feed(estimator, 100 / factor, 1, 0.05, static_cast<uint64_t>(i));
        Feed(estimator, hiccup && i == 2 ? 100 / factor : 100, 1, 0.05, static_cast<uint64_t>(i));
      }
      const double mean = 200 / (1 + factor);
      EXPECT_NEAR(estimator.samples_per_second(), mean, 0.2 * mean)
          << factor << " times slower, " << (hiccup ? "with" : "without") << " a hiccup";
      const double noise = (factor - 1) / (factor + 1);
      EXPECT_NEAR(estimator.noise(), noise, 0.3 * noise);
    }
  }
}

// However long it was steady before.
TEST(SpeedEstimator, WhoBecomesRestlessIsKnownSoon) {
  SpeedEstimator estimator(100);
  Feed(estimator, 100, 200);
  for (int i = 0; i < 8; ++i) {
    Feed(estimator, 20, 1);
    Feed(estimator, 100, 1);
  }
  EXPECT_NEAR(estimator.samples_per_second(), 33, 8);
  EXPECT_EQ(estimator.restarts(), 1u);
}

TEST(SpeedEstimator, SlowStepsNowAndThenCountForNothing) {
  SpeedEstimator estimator(100);
  for (int i = 0; i < 100; ++i) {
    Feed(estimator, 100, 3);
    Feed(estimator, 20, 1);
  }
  EXPECT_NEAR(estimator.samples_per_second(), 100, 1e-6);
}

TEST(SpeedEstimator, KnowsAFiveFoldSlowdownAfterFourAnswers) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SpeedEstimator estimator(100);
    Feed(estimator, 100, 50, 0.05, seed);
    Feed(estimator, 20, 4, 0.05, seed + 1000);
    EXPECT_NEAR(estimator.samples_per_second(), 20, 3) << "seed " << seed;
  }
}

// The first answer after a change began before it.
TEST(SpeedEstimator, OfTheMeasurementsAfterAChangeTheNewestSayMost) {
  SpeedEstimator estimator(100);
  Feed(estimator, 100, 10);
  Feed(estimator, 40, 1);
  Feed(estimator, 20, 2);
  EXPECT_NEAR(estimator.samples_per_second(), 1 / (0.25 / 40 + 0.75 / 20), 1e-6);
  EXPECT_EQ(estimator.restarts(), 1u);
}

TEST(SpeedEstimator, AnAccidentOnOneSideIsNoPartOfAChangeToTheOther) {
  SpeedEstimator estimator(100);
  Feed(estimator, 100, 10);
  Feed(estimator, 20, 1);
  Feed(estimator, 500, 3);
  EXPECT_NEAR(estimator.samples_per_second(), 500, 1e-6);
}

TEST(SpeedEstimator, KnowsAFiveFoldSpeedUpAfterFourAnswers) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SpeedEstimator estimator(100);
    Feed(estimator, 20, 50, 0.05, seed);
    Feed(estimator, 100, 4, 0.05, seed + 1000);
    EXPECT_NEAR(estimator.samples_per_second(), 100, 15) << "seed " << seed;
  }
}

TEST(SpeedEstimator, FollowsASlowDrift) {
  SpeedEstimator estimator(100);
  for (double speed = 100; speed > 30; speed *= 0.97) Feed(estimator, speed, 1);
  EXPECT_NEAR(estimator.samples_per_second(), 30, 6);
}

TEST(SpeedEstimator, KnowsHowMuchItsMeasurementsVary) {
  for (const double noise : {0.02, 0.1, 0.3}) {
    SpeedEstimator estimator(100);
    double sum = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
      Feed(estimator, 100, 20, noise, seed);
      sum += estimator.noise() / 100;
    }
    EXPECT_NEAR(sum, noise, 0.2 * noise);  // The farthest are left out.
  }
}

TEST(SpeedEstimator, AChangeOfSpeedIsNotNoise) {
  SpeedEstimator estimator(100);
  Feed(estimator, 100, 100, 0.05);
  const double before = estimator.noise();
  Feed(estimator, 20, 4);
  EXPECT_LE(estimator.noise(), before);
}

TEST(SpeedEstimator, IsSettledOnceMeasurementsAgree) {
  SpeedEstimator estimator(100000);
  EXPECT_FALSE(estimator.settled()) << "a guess";
  Feed(estimator, 100, 2);
  EXPECT_FALSE(estimator.settled()) << "far from the guess, and still may be an accident";
  Feed(estimator, 100, 1);
  EXPECT_TRUE(estimator.settled());
  Feed(estimator, 20, 1);
  EXPECT_FALSE(estimator.settled());
  Feed(estimator, 100, 1);
  EXPECT_TRUE(estimator.settled());
}

}  // namespace
}  // namespace motley
