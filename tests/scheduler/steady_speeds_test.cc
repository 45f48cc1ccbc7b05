// SPDX-License-Identifier: Apache-2.0
#include "scheduler/steady_speeds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(SteadySpeeds, AverageOutNoise) {
  SteadySpeeds steady;
  for (int look = 0; look < 50; ++look) steady.Add({0, 3}, {look % 2 == 0 ? 110.0 : 90.0, 50});
  EXPECT_THAT(steady.Of({0, 3}), ElementsAre(DoubleNear(100, 1), DoubleNear(50, 1e-9)));
}

TEST(SteadySpeeds, FollowBigChangesAtOnceAndSmallOnesSoon) {
  SteadySpeeds steady;
  for (int look = 0; look < 50; ++look) steady.Add({0}, {100});
  steady.Add({0}, {20});
  EXPECT_THAT(steady.Of({0}), ElementsAre(20));
  steady.Add({0}, {100});
  EXPECT_THAT(steady.Of({0}), ElementsAre(100));
  for (int look = 0; look < 50; ++look) steady.Add({0}, {85});
  EXPECT_THAT(steady.Of({0}), ElementsAre(DoubleNear(85, 2)));
}

}  // namespace
}  // namespace motley
