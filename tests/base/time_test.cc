// SPDX-License-Identifier: Apache-2.0
#include "base/time.h"

#include <gtest/gtest.h>

#include <limits>

namespace motley {
namespace {

constexpr double kCentury = 100 * 365.25 * 86400;

TEST(FromSeconds, RoundsToTheNearestNanosecond) {
  EXPECT_EQ(FromSeconds(1.5), std::chrono::milliseconds(1500));
  EXPECT_EQ(FromSeconds(0.6e-9), Duration(1));
  EXPECT_EQ(FromSeconds(-0.6e-9), Duration(-1));
  EXPECT_EQ(FromSeconds(0.4e-9), Duration(0));
}

// Huge durations stay long, and do not overflow into the past.
TEST(FromSeconds, HugeDurationsStayLong) {
  for (const double seconds : {kCentury, 1e12, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_NEAR(ToSeconds(FromSeconds(seconds)), kCentury, 1) << seconds;
    EXPECT_NEAR(ToSeconds(FromSeconds(-seconds)), -kCentury, 1) << seconds;
  }
  EXPECT_GT(Time() + FromSeconds(1e300) + FromSeconds(1e300), Time() + FromSeconds(1e300));
}

}  // namespace
}  // namespace motley
