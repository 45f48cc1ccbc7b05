// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "power_cut_run.h"

namespace motley {
namespace {

TEST(PowerCuts, AcknowledgedCheckpointsSurviveTenThousandSeeds) {
  PowerCutCounts counts;
  for (uint64_t seed = 100'000; seed < 110'000; ++seed) ASSERT_EQ(RunPowerCuts(seed, counts), "");
  EXPECT_GT(counts.cut_while_writing, 5000u);
  EXPECT_GT(counts.newer_than_acknowledged, 500u);
}

}  // namespace
}  // namespace motley
