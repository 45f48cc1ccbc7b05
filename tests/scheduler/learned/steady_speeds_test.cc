// SPDX-License-Identifier: Apache-2.0
#include "scheduler/learned/steady_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(SteadySpeeds, AverageOutNoise) {
  SteadySpeeds steady;
  for (int look = 0; look < 50; ++look) {
    steady.Add({0, 3}, {look % 2 == 0 ? 110.0 : 90.0, 50}, {0.1, 0.1});
  }
  EXPECT_THAT(steady.Of({0, 3}), ElementsAre(DoubleNear(100, 1), DoubleNear(50, 1e-9)));
}

TEST(SteadySpeeds, FollowBigChangesAtOnceAndSmallOnesSoon) {
  SteadySpeeds steady;
  for (int look = 0; look < 50; ++look) steady.Add({0}, {100}, {0.1});
  steady.Add({0}, {20}, {0.1});
  EXPECT_THAT(steady.Of({0}), ElementsAre(20));
  steady.Add({0}, {100}, {0.1});
  EXPECT_THAT(steady.Of({0}), ElementsAre(100));
  for (int look = 0; look < 50; ++look) steady.Add({0}, {85}, {0.1});
  EXPECT_THAT(steady.Of({0}), ElementsAre(DoubleNear(85, 2)));
}

TEST(SteadySpeeds, WhatIsNoisyIsNotTakenForAChange) {
  SteadySpeeds steady;
  for (int look = 0; look < 50; ++look) steady.Add({0}, {100}, {0.4});
  steady.Add({0}, {140}, {0.4});
  EXPECT_THAT(steady.Of({0}), ElementsAre(DoubleNear(102, 0.1)));
  steady.Add({0}, {200}, {0.4});
  EXPECT_THAT(steady.Of({0}), ElementsAre(200));
}

TEST(SteadySpeeds, ErrorsShrinkWithWhatAnAverageRestsOnAndGrowWithNoise) {
  SteadySpeeds steady;
  steady.Add({0, 1, 2}, {100, 100, 100}, {0, 0.3, 0.3});
  EXPECT_THAT(steady.Of({0, 1}, 1), ElementsAre(100, DoubleNear(117.3, 0.1)));
  EXPECT_THAT(steady.Of({0, 1}, -1), ElementsAre(100, DoubleNear(85.2, 0.1)));
  for (int look = 0; look < 9; ++look) steady.Add({1}, {100}, {0.3});
  EXPECT_THAT(steady.Of({1, 2}, 2), ElementsAre(DoubleNear(117.3, 0.1), DoubleNear(134.6, 0.1)));
  for (int look = 0; look < 500; ++look) steady.Add({1}, {100}, {0.3});
  EXPECT_THAT(steady.Of({1}, 2), ElementsAre(DoubleNear(109.5, 0.1)));
  steady.Add({1}, {100}, {0.6});  // The latest noise counts.
  EXPECT_THAT(steady.Of({1}, 2), ElementsAre(DoubleNear(119, 0.1)));
  steady.Add({1}, {20}, {0.3});  // The average starts again.
  EXPECT_THAT(steady.Of({1}, 1), ElementsAre(DoubleNear(23.5, 0.1)));
}

}  // namespace
}  // namespace motley
