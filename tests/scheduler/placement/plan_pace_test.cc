// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/plan_pace.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

const std::vector<WorkerId> kIds = {0, 1};
const std::vector<double> kSpeeds = {100, 100};

// A plan is in use since step 0, and the last look was in step 10.
PlanPace Looked(Gain found = Gain::kNone) {
  PlanPace pace;
  pace.Looked(10, kIds, kSpeeds);
  EXPECT_FALSE(pace.Gained(found));
  return pace;
}

TEST(PlanPace, WithoutAChangeNothingIsLookedAt) {
  const PlanPace pace = Looked();
  EXPECT_FALSE(pace.WorthALook(11, kIds, kSpeeds));
  EXPECT_FALSE(pace.WorthALook(1000, kIds, {103, 98})) << "noise";
  EXPECT_TRUE(pace.WorthALook(11, kIds, {100, 90}));
  EXPECT_TRUE(pace.WorthALook(11, kIds, {100, 110}));
  EXPECT_TRUE(pace.WorthALook(11, {0, 2}, kSpeeds)) << "another is there";
  EXPECT_TRUE(pace.WorthALook(11, {0, 1, 2}, {100, 100, 100}));
}

TEST(PlanPace, APlanIsGivenTimeToShowItself) {
  PlanPace pace = Looked(Gain::kSure);
  pace.Adopted(10);
  for (const StepId step : {10, 11, 12}) EXPECT_FALSE(pace.WorthALook(step, kIds, {1, 1000}));
  EXPECT_TRUE(pace.WorthALook(13, kIds, {1, 1000}));
  EXPECT_FALSE(pace.WorthALook(13, kIds, kSpeeds)) << "the gain was the last plan's";
}

TEST(PlanPace, ASureGainIsLookedAtUntilItWasSeenThreeTimesInARow) {
  PlanPace pace = Looked(Gain::kSure);
  EXPECT_TRUE(pace.WorthALook(11, kIds, kSpeeds));
  EXPECT_FALSE(pace.Gained(Gain::kSure));
  EXPECT_TRUE(pace.Gained(Gain::kSure));
  pace.Adopted(12);
  EXPECT_FALSE(pace.Gained(Gain::kSure)) << "of the new one";
}

TEST(PlanPace, OneLookThatIsNotSureBreaksTheRow) {
  for (const Gain other : {Gain::kNone, Gain::kUnsure}) {
    PlanPace pace = Looked(Gain::kSure);
    EXPECT_FALSE(pace.Gained(Gain::kSure));
    EXPECT_FALSE(pace.Gained(other));
    EXPECT_FALSE(pace.Gained(Gain::kSure));
    EXPECT_FALSE(pace.Gained(Gain::kSure));
    EXPECT_TRUE(pace.Gained(Gain::kSure));
  }
}

TEST(PlanPace, WhatIsNotSureIsLookedAtAgainWhenMoreWasMeasured) {
  PlanPace pace = Looked(Gain::kUnsure);
  EXPECT_FALSE(pace.WorthALook(17, kIds, kSpeeds));
  EXPECT_TRUE(pace.WorthALook(18, kIds, kSpeeds));
  pace.Adopted(18);
  EXPECT_FALSE(pace.WorthALook(30, kIds, kSpeeds)) << "of another plan";
}

}  // namespace
}  // namespace motley
