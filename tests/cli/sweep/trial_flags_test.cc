// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/sweep/trial_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

SweepPlan Plan(std::vector<std::pair<std::string, std::string>> train,
               std::vector<TriedFlag> tried) {
  SweepPlan plan;
  plan.train = std::move(train);
  plan.search.flags = std::move(tried);
  plan.search.epochs = 9;
  return plan;
}

TriedFlag Listed(const std::string& name, std::vector<std::string> values) {
  return {name, std::move(values)};
}

TEST(TrialsAtOnce, FillTheCores) {
  const TriedFlag rate = Listed("lr", {"0.1"});
  EXPECT_EQ(TrialsAtOnce(Plan({}, {rate}), 8), 8u);
  EXPECT_EQ(TrialsAtOnce(Plan({{"workers", "2"}, {"threads", "2"}}, {rate}), 8), 2u);
  EXPECT_EQ(TrialsAtOnce(Plan({{"workers", "3"}}, {rate}), 2), 1u);
  // The product does not fit into 32 bits.
  EXPECT_EQ(TrialsAtOnce(Plan({{"workers", "65536"}, {"threads", "65536"}}, {rate}), 8), 1u);
  EXPECT_EQ(TrialsAtOnce(Plan({{"workers", "4294967295"}, {"threads", "4294967295"}}, {}), 8), 1u);
}

TEST(TrialsAtOnce, HaveRoomForTheLargestTrial) {
  EXPECT_EQ(TrialsAtOnce(Plan({}, {Listed("workers", {"1", "4", "2"})}), 8), 2u);
  EXPECT_EQ(TrialsAtOnce(Plan({{"workers", "2"}}, {Listed("threads", {"1", "2"})}), 8), 2u);
  EXPECT_EQ(TrialsAtOnce(Plan({}, {{"workers", DrawnRange{1, 4, false, true}}}), 8), 2u);
}

TEST(TrialsAtOnce, CountEmulatedSpeedsAsWorkers) {
  EXPECT_EQ(TrialsAtOnce(Plan({{"worker-speeds", "1,1,0.5,0.25"}}, {}), 8), 2u);
  EXPECT_EQ(TrialsAtOnce(Plan({}, {Listed("worker-speeds", {"1,1", "1,1,0.5,0.25"})}), 8), 2u);
}

TEST(TrialsAtOnce, AreAsManyAsThePlanSays) {
  SweepPlan plan = Plan({{"workers", "8"}}, {});
  plan.devices = {"cpu", "opencl:0", "opencl:1"};
  EXPECT_EQ(TrialsAtOnce(plan, 8), 3u);
  plan.at_once = 5;
  EXPECT_EQ(TrialsAtOnce(plan, 8), 5u);
}

TEST(FlagsOfTrial, TakeTheNumberOfWorkersFromTheirSpeeds) {
  const TriedFlag rate = Listed("lr", {"0.1"});
  EXPECT_THAT(FlagsOfTrial(Plan({}, {rate}), {"0.1"}, 3), Contains("--workers=1"));
  const auto listed = FlagsOfTrial(Plan({{"worker-speeds", "1,0.5"}}, {rate}), {"0.1"}, 3);
  EXPECT_THAT(listed, Contains("--worker-speeds=1,0.5"));
  EXPECT_THAT(listed, Not(Contains(StartsWith("--workers"))));
  EXPECT_THAT(FlagsOfTrial(Plan({}, {Listed("worker-speeds", {"1,1"})}), {"1,1"}, 3),
              Not(Contains(StartsWith("--workers"))));
}

TEST(TrialFiles, AreKnownByTheirWholeNames) {
  EXPECT_EQ(ModelName(7), "trial-0007.safetensors");
  EXPECT_EQ(CheckpointName(12345), "trial-12345.checkpoint");
  for (const char* name :
       {"trial-0007.safetensors", "trial-12345.checkpoint", "trial-0007.safetensors.diverged"}) {
    EXPECT_TRUE(IsTrialFile(name)) << name;
    EXPECT_FALSE(IsUnfinishedTrialFile(name)) << name;
  }
  for (const char* name : {"trial-0005.safetensors.12.13.tmp", "trial-0005.checkpoint.1.2.tmp"}) {
    EXPECT_TRUE(IsTrialFile(name)) << name;
    EXPECT_TRUE(IsUnfinishedTrialFile(name)) << name;
  }
  for (const char* name : {"trial-notes.tmp", "trial-plan.md", "trial-7.safetensors",
                           "trial-0007.safetensors.bak", "trial-0007.safetensors.tmp",
                           "trial-0007.safetensors.1.tmp", "trial-0007.safetensors.1.x.tmp",
                           "my-trial-0007.safetensors", "trial-0007", "trial-.safetensors"}) {
    EXPECT_FALSE(IsTrialFile(name)) << name;
    EXPECT_FALSE(IsUnfinishedTrialFile(name)) << name;
  }
}

TEST(ShownCommand, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(ShownCommand({"motley", "--data=it's.csv", "--lr=0.1"}),
            "motley '--data=it'\\''s.csv' --lr=0.1");
}

}  // namespace
}  // namespace motley
