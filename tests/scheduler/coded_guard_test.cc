// SPDX-License-Identifier: Apache-2.0
// Tests codes whose answers the norm guard of the decoder refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/script.h"

namespace motley {
namespace {

using ::testing::Contains;
using ::testing::SizeIs;

// No number of coded answers is exact enough for this limit; plain sums are.
constexpr DecodeLimits kHopeless = {.residual = 1e-6, .tolerance = 1e-30};

TEST(CodedGuard, AJobWhoseCodeIsRefusedFinishesWithoutACode) {
  for (const char* code : {"cyclic", "heterogeneous", "rs"}) {
    SchedulerOptions options;
    options.workers = 4;
    options.partitions = 16;
    options.code = code;
    options.batch = 64;
    options.steps = 6;
    Script script(options, kHopeless);
    const std::vector<double> speeds(4, 100);
    script.Start(speeds);
    EXPECT_EQ(script.decoder().code().name, code);
    for (WorkerId id = 0; id < 4; ++id) {
      const Script::Lines lines = script.Arrive(id, id);
      EXPECT_THAT(lines, ::testing::Not(Contains("commit 0"))) << code;
      script.Free(id, 32, 0.32);
    }
    EXPECT_THAT(script.TickAtDeadline(), Contains("open 0")) << code;
    EXPECT_EQ(script.decoder().code().name, "none");
    EXPECT_THAT(Only<notice::NotDecodable>(script.notices()), SizeIs(1));
    for (int step = 0; step < 6; ++step) script.WholeStep(speeds);
    EXPECT_TRUE(script.end_status().ok()) << script.end_status().ToString();
    EXPECT_EQ(script.Stats().steps_committed, 6u) << code;
    EXPECT_EQ(script.Stats().steps_restarted, 1u) << code;
  }
}

TEST(CodedGuard, ALostWorkerDoesNotHideThatTheCodeIsRefused) {
  SchedulerOptions options;
  options.workers = 4;
  options.partitions = 16;
  options.code = "rs";
  options.batch = 64;
  options.steps = 6;
  Script script(options, kHopeless);
  script.Start(std::vector<double>(4, 100));
  script.Lost(3);
  for (WorkerId id = 0; id < 3; ++id) {
    script.Arrive(id, id);
    script.Free(id, 32, 0.32);
  }
  script.Arrive(0, 3);
  script.Free(0, 32, 0.32);
  EXPECT_THAT(script.TickAtDeadline(), Contains("open 0"));
  EXPECT_EQ(script.decoder().code().name, "none");
  for (int step = 0; step < 6; ++step) script.WholeStep(std::vector<double>(4, 100));
  EXPECT_TRUE(script.end_status().ok()) << script.end_status().ToString();
  EXPECT_EQ(script.Stats().steps_committed, 6u);
}

}  // namespace
}  // namespace motley
