// SPDX-License-Identifier: Apache-2.0
// Choices of codes in whole jobs: how soon a job leaves a code that breaks its promise, when it
// considers others, and which notices it gives. Each test sets the times of steps by code.
// Computing takes another 0.16 s.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/scheduler/virtual_cluster.h"

namespace motley {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class AutoTrial : public testing::Test {
 protected:
  static void Run(VirtualCluster& cluster) {
    cluster.Run(20000);
    EXPECT_THAT(cluster.violations(), IsEmpty());
    EXPECT_TRUE(cluster.end_status().ok()) << cluster.end_status().ToString();
  }
  // The number of steps from `from` to `to` with another code.
  static int64_t StepsWithout(const VirtualCluster& cluster, const std::string& code, StepId from,
                              StepId to) {
    const auto begin = cluster.codes().begin();
    return std::count_if(begin + static_cast<ptrdiff_t>(from), begin + static_cast<ptrdiff_t>(to),
                         [&](const std::string& one) { return one != code; });
  }
};

VirtualCluster::ApplySeconds PlainIs(double seconds, double others) {
  return [seconds, others](const std::string& code, StepId) {
    return code == "none" ? seconds : others;
  };
}

TEST_F(AutoTrial, WhoseStepsTakeLongerThanForeseenIsLeftAndNotTakenAgain) {
  VirtualCluster cluster(AutoOptions(2, 400), {400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1, 1.3));
  Run(cluster);
  EXPECT_GT(StepsWithout(cluster, "none", 0, 40), 0);
  EXPECT_EQ(StepsWithout(cluster, "none", 40, 400), 0);
}

// From step 265 on the chosen code takes three times as long. The code before it takes 1.3 s.
TEST_F(AutoTrial, WhatBecomesSlowIsLeftSoonForWhatWasLeftBefore) {
  VirtualCluster cluster(AutoOptions(2, 400), {400, 400}, 1);
  cluster.SetApplySeconds([](const std::string& code, StepId step) {
    return code != "none" ? 1.3 : step < 265 ? 1.0 : 3.0;
  });
  Run(cluster);
  EXPECT_EQ(StepsWithout(cluster, "none", 100, 265), 0);
  EXPECT_EQ(cluster.codes()[300], "adaptive");
  EXPECT_EQ(cluster.Stats().code, "adaptive");
}

TEST_F(AutoTrial, StepsTooShortForCopiesAreLeftWithoutThem) {
  VirtualCluster cluster(AutoOptions(2, 400), {4e5, 4e5}, 1);
  cluster.SetApplySeconds(PlainIs(1e-4, 1e-4));
  Run(cluster);
  EXPECT_EQ(cluster.Stats().code, "none");
  for (const auto& chosen : Only<notice::CodeChosen>(cluster.notices())) {
    EXPECT_THAT(chosen.why.before, Not(HasSubstr("copies"))) << "no copies were sent";
  }
}

TEST_F(AutoTrial, ShortJobsChangeNothing) {
  VirtualCluster cluster(AutoOptions(2, 12), {400, 400}, 1);
  Run(cluster);
  EXPECT_THAT(cluster.codes(), Each("adaptive"));
}

// Sending a second copy of all data takes 48 s, as long as some 30 steps.
TEST_F(AutoTrial, WhereSendingDataTakesMuchOfAJobNoCopiesAreSent) {
  VirtualCluster cluster(AutoOptions(2, 400), {400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1, 1.3));
  cluster.SetDataSeconds(3);
  Run(cluster);
  EXPECT_EQ(StepsWithout(cluster, "none", 16, 400), 0);
}

// A code whose answers arrive but do not decode is tried once, and the user is notified.
TEST_F(AutoTrial, WhoseAnswersDoNotDecodeIsTriedOnce) {
  SchedulerOptions options = AutoOptions(4, 400, 1);
  options.most_sums = 2;  // Makes the job begin with repetition.
  VirtualCluster cluster(options, {400, 400, 400, 400}, 1);
  cluster.SetUndecodable("repetition", 2);
  Run(cluster);
  EXPECT_THAT(Only<notice::NotDecodable>(cluster.notices()), SizeIs(1));
}

}  // namespace
}  // namespace motley
