// SPDX-License-Identifier: Apache-2.0
// Trials of whole jobs: what they may cost, who is tried again and when, and what people are told.
// Steps of each code take what the test says, besides 0.16 s of computing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/scheduler/virtual_cluster.h"

namespace motley {
namespace {

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class AutoTrial : public testing::Test {
 protected:
  static SchedulerOptions Options(uint32_t workers, uint64_t steps, uint32_t tolerate = 0) {
    SchedulerOptions options;
    options.workers = workers;
    options.partitions = workers * 16;
    options.code = "auto";
    options.tolerate = tolerate;
    options.batch = workers * 64;
    options.steps = steps;
    return options;
  }

  static void Run(VirtualCluster& cluster) {
    cluster.Run(20000);
    EXPECT_THAT(cluster.violations(), IsEmpty());
    EXPECT_TRUE(cluster.end_status().ok()) << cluster.end_status().ToString();
  }
};

VirtualCluster::ApplySeconds PlainIs(double seconds, double others) {
  return [seconds, others](const std::string& code, StepId) {
    return code == "none" ? seconds : others;
  };
}

// The one that ran did not decode in its first turn, and one was left.
TEST_F(AutoTrial, WhoWonWithoutARunIsNotSaidToTakeNoTime) {
  SchedulerOptions options = Options(4, 100, 1);
  options.most_sums = 2;  // So it begins with rows.
  VirtualCluster cluster(options, {400, 400, 400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1, 1));
  cluster.SetUndecodable("repetition", 9);
  Run(cluster);
  EXPECT_THAT(cluster.notices(), HasSubstr("not measured (repetition, 2 copies: does not serve)"));
  EXPECT_THAT(cluster.notices(), Not(ContainsRegex("[^0-9]0[.]00 ms"))) << cluster.notices();
}

}  // namespace
}  // namespace motley
