// SPDX-License-Identifier: Apache-2.0
// Trials of whole jobs: what they may cost, who is tried again and when, and what people are told.
// Steps of each code take what the test says, besides 0.16 s of computing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/scheduler/virtual_cluster.h"

namespace motley {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
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
  // Of these steps, those that another code had.
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

TEST_F(AutoTrial, WhoLostIsNotTriedAgainForLong) {
  VirtualCluster cluster(Options(2, 400), {400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1, 1.3));
  Run(cluster);
  EXPECT_EQ(cluster.codes()[16], "adaptive");
  for (StepId step = 40; step < 115; ++step) {  // Others are.
    EXPECT_NE(cluster.codes()[step], "adaptive") << step;
  }
}

// One step of 60 took 59 of those that plain shares take: more than 8 and 2 % of the steps that
// were done, for 2500 steps.
TEST_F(AutoTrial, WhatTrialsLostIsEarnedBeforeTheNextOne) {
  VirtualCluster cluster(Options(2, 5000), {400, 400}, 1);
  cluster.SetApplySeconds([](const std::string& code, StepId step) {
    return code == "none" ? 1 : step < 3 ? 1.5 : 60.0;
  });
  Run(cluster);
  EXPECT_LE(StepsWithout(cluster, "none", 3, 2500), 2) << "with one in which data came";
  EXPECT_GT(StepsWithout(cluster, "none", 2500, 5000), 0);
}

// What won at first takes three times as long from this step on; what lost took `dear` until then.
class AutoTrialDisappointed : public AutoTrial {
 protected:
  static VirtualCluster::ApplySeconds From(StepId step, double dear = 1.3) {
    return [step, dear](const std::string& code, StepId now) {
      if (code == "none") return now < step ? 1.0 : 3.0;
      return now < step && now > 3 ? dear : 1.3;
    };
  }
};

TEST_F(AutoTrialDisappointed, WhoLostIsForgiven) {
  VirtualCluster cluster(Options(2, 200), {400, 400}, 1);
  cluster.SetApplySeconds(From(40));
  Run(cluster);
  EXPECT_GT(StepsWithout(cluster, "none", 16, 40), 0) << "it was tried";
  EXPECT_EQ(cluster.codes()[70], "adaptive") << "which lost in step 20";
  EXPECT_EQ(cluster.Stats().code, "adaptive");
}

TEST_F(AutoTrialDisappointed, WhatTrialsLostIsForgiven) {
  VirtualCluster cluster(Options(2, 200), {400, 400}, 1);
  cluster.SetApplySeconds(From(40, 60));
  Run(cluster);
  EXPECT_GT(StepsWithout(cluster, "none", 40, 80), 0);
  EXPECT_NE(cluster.Stats().code, "none");
}

TEST_F(AutoTrialDisappointed, ThereIsALookAtOnce) {
  VirtualCluster cluster(Options(2, 400), {400, 400}, 1);
  cluster.SetApplySeconds(From(265));
  Run(cluster);
  EXPECT_GT(StepsWithout(cluster, "none", 265, 300), 0);
}

// Its answers come and do not decode: it is tried once, and people are told.
TEST_F(AutoTrial, WhoseAnswersDoNotDecodeIsTriedOnce) {
  VirtualCluster cluster(Options(2, 1500), {400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1, 1.3));
  cluster.SetUndecodable("repetition");
  Run(cluster);
  const std::string& notices = cluster.notices();
  EXPECT_THAT(notices, HasSubstr("repetition, 2 copies: does not serve"));
  const size_t first = notices.find("do not decode");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(notices.find("do not decode", first + 1), std::string::npos) << notices;
}

// A job of one worker tolerates nobody missing, also when others have joined.
TEST_F(AutoTrial, WhoCannotBeMadeIsPassedOver) {
  VirtualCluster cluster(Options(1, 100), {400}, 1);
  for (int i = 0; i < 2; ++i) cluster.JoinLate(0.5, 400);
  Run(cluster);
  EXPECT_THAT(cluster.codes(), Each("none"));
  EXPECT_THAT(cluster.notices(), HasSubstr("2 copies: does not serve"));
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

TEST_F(AutoTrial, PlainSharesAreTriedOnceBeforeAnythingIsPlanned) {
  VirtualCluster cluster(Options(2, 200), {400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1.5, 1));
  Run(cluster);
  EXPECT_EQ(cluster.codes()[3], "none");
  EXPECT_EQ(std::count(cluster.codes().begin(), cluster.codes().begin() + 16, "none"), 5);
}

TEST_F(AutoTrial, StepsTooShortForCopiesAreLeftWithoutThem) {
  VirtualCluster cluster(Options(2, 400), {4e5, 4e5}, 1);
  cluster.SetApplySeconds(PlainIs(1e-4, 1e-4));
  Run(cluster);
  EXPECT_EQ(cluster.Stats().trials, 1u) << "plain shares against leases";
  EXPECT_THAT(cluster.notices(), Not(HasSubstr("predicted"))) << "nothing was planned";
}

// When its data come, which was weighed before.
TEST_F(AutoTrial, WhatStepsTakeWhileDataComeIsNoVerdict) {
  VirtualCluster cluster(Options(2, 400), {400, 400}, 1);
  StepId first = 0;
  cluster.SetApplySeconds([&first](const std::string& code, StepId step) {
    if (code == "none" || step < 3) return 1.0;
    if (first == 0) first = step;
    return step == first ? 20.0 : 0.3;
  });
  Run(cluster);
  EXPECT_NE(cluster.Stats().code, "none");
}

TEST_F(AutoTrial, ShortJobsTryNothing) {
  VirtualCluster cluster(Options(2, 26), {400, 400}, 1);
  Run(cluster);
  EXPECT_EQ(cluster.Stats().trials, 0u);
  EXPECT_THAT(cluster.codes(), Each("adaptive"));
}

TEST_F(AutoTrial, WhoeverComesIsAReasonToLookAtOnce) {
  VirtualCluster cluster(Options(2, 500), {400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1, 1.3));
  cluster.JoinLate(355, 400);  // In step 296, when the next look would be in step 760.
  Run(cluster);
  EXPECT_GT(StepsWithout(cluster, "none", 290, 330), 0);
}

TEST_F(AutoTrial, AfterAnotherOneWonTheNextLookIsSoon) {
  VirtualCluster cluster(Options(2, 500), {400, 400}, 1);
  cluster.SetApplySeconds([](const std::string& code, StepId step) {
    return code == "none" ? 1 : code == "adaptive" && step > 200 ? 0.5 : 1.3;
  });
  Run(cluster);
  EXPECT_EQ(cluster.codes()[280], "adaptive");
  EXPECT_GT(StepsWithout(cluster, "adaptive", 280, 330), 0);
}

// A round of many candidates takes some hundredths of a second, and a fiftieth of all time.
TEST_F(AutoTrial, WhereStepsAreShortLooksAreRarer) {
  for (const double part : {1.0, 0.003}) {
    VirtualCluster cluster(Options(4, 300), std::vector<double>(4, 400 / part), 1);
    cluster.SetApplySeconds(PlainIs(part, 1.3 * part));
    Run(cluster);
    EXPECT_GT(StepsWithout(cluster, "none", 3, 50), 0);
    EXPECT_EQ(StepsWithout(cluster, "none", 50, 200) > 0, part == 1) << part;
  }
}

// A second copy of everything takes some 10 s, of 60 that the job was foreseen to take.
TEST_F(AutoTrial, WhereSendingDataTakesMuchOfAJobNoCopiesAreTried) {
  VirtualCluster cluster(Options(2, 400), {400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1, 1.3));
  cluster.SetDataSeconds(0.3);
  Run(cluster);
  EXPECT_EQ(StepsWithout(cluster, "none", 3, 200), 0);
}

TEST_F(AutoTrial, OfCodesThatNeedMuchDataOneIsTriedAtATime) {
  VirtualCluster cluster(Options(2, 3000), {400, 400}, 1);
  cluster.SetApplySeconds(PlainIs(1, 1.3));
  cluster.SetDataSeconds(0.3);
  Run(cluster);
  std::vector<std::string> tried(cluster.codes().begin() + 3, cluster.codes().begin() + 90);
  EXPECT_THAT(tried, Contains("adaptive"));
  EXPECT_THAT(tried, Each(AnyOf("none", "adaptive")));
}

}  // namespace
}  // namespace motley
