// SPDX-License-Identifier: Apache-2.0
#include "scheduler/sync/sync_policy.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(Barrier, OpensOneUpdateAfterTheOtherFromTheNewestVersion) {
  Barrier barrier(0);
  for (StepId step = 0; step < 5; ++step) {
    const auto next = barrier.Next();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->update.id, step);
    EXPECT_EQ(next->update.base_version, step);
    ASSERT_TRUE(barrier.Next()) << "asking changes nothing";
    barrier.Opened(*next);
    EXPECT_FALSE(barrier.Next());
    barrier.Committed(0);
  }
}

TEST(Barrier, GoesOnWhereAnEarlierRunEnded) {
  const Barrier barrier(12);
  EXPECT_EQ(barrier.Next()->update.id, 12u);
  EXPECT_EQ(barrier.Next()->update.base_version, 12u);
}

}  // namespace
}  // namespace motley
