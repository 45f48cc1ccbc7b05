// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/sync_policy.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

const Membership kNobody(0, 1);

TEST(Barrier, OpensOneUpdateAfterTheOtherFromTheNewestVersion) {
  Barrier barrier(0);
  for (StepId step = 0; step < 5; ++step) {
    const auto next = barrier.Next(kNobody, Time{});
    ASSERT_TRUE(next);
    EXPECT_EQ(next->update.id, step);
    EXPECT_EQ(next->update.base_version, step);
    ASSERT_TRUE(barrier.Next(kNobody, Time{})) << "asking changes nothing";
    barrier.Opened(*next, Time{});
    EXPECT_FALSE(barrier.Next(kNobody, Time{}));
    barrier.Committed(0, Time{});
  }
}

TEST(Barrier, GoesOnWhereAnEarlierRunEnded) {
  const Barrier barrier(12);
  EXPECT_EQ(barrier.Next(kNobody, Time{})->update.id, 12u);
  EXPECT_EQ(barrier.Next(kNobody, Time{})->update.base_version, 12u);
}

}  // namespace
}  // namespace motley
