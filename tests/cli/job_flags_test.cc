// SPDX-License-Identifier: Apache-2.0
#include "cli/job_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void ExpectRefused(const JobFlags& flags, const char* why, uint32_t elsewhere = 0) {
  const auto plan = PlanJob(flags, elsewhere);
  ASSERT_FALSE(plan.ok()) << why;
  EXPECT_EQ(plan.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(plan.status().ToString(), HasSubstr(why));
}

TEST(PlanJob, TakesTheNumberOfWorkersFromTheSpeeds) {
  JobFlags flags;
  flags.speeds = "1,1,0.5";
  const auto plan = PlanJob(flags, 0);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->job.workers, 3U);
  EXPECT_THAT(plan->speeds, ElementsAre(1, 1, 0.5));
}

TEST(PlanJob, StartsTwoWorkersUnlessTold) {
  EXPECT_EQ(PlanJob(JobFlags(), 0)->job.workers, 2U);
  JobFlags flags;
  flags.workers = 5;
  EXPECT_EQ(PlanJob(flags, 0)->job.workers, 5U);
}

TEST(PlanJob, RefusesAsManySpeedsAsDoNotFit) {
  JobFlags flags;
  flags.workers = 4;
  flags.speeds = "1,2";
  ExpectRefused(flags, "--workers 4");
}

TEST(PlanJob, RefusesAsManyWorkersAsTheClusterHasNot) {
  JobFlags flags;
  flags.workers = 4;
  ExpectRefused(flags, "3 workers", 3);
  flags.workers = 3;
  EXPECT_TRUE(PlanJob(flags, 3).ok());
}

TEST(PlanJob, RefusesTooManyWorkersBeforeItBuildsTheirCode) {
  JobFlags flags;
  for (const char* code : {"none", "rs"}) {
    flags.code = code;
    for (const uint32_t workers : {4097U, 1U << 28, 1U << 30}) {
      flags.workers = workers;
      ExpectRefused(flags, "at most 4096 workers");
    }
  }
  flags.workers = 257;
  EXPECT_EQ(PlanJob(flags, 0, kMostLocalWorkers).code(), StatusCode::kInvalidArgument);
  flags.workers = 256;
  EXPECT_TRUE(PlanJob(flags, 0, kMostLocalWorkers).ok());
}

TEST(PlanJob, WithoutACodeNothingIsTolerated) {
  JobFlags flags;
  flags.workers = 1;
  flags.tolerate = 1;
  EXPECT_EQ(PlanJob(flags, 0)->job.tolerate, 0U);
}

TEST(PlanJob, SaysHowManyMayBeMissingAtMost) {
  JobFlags flags;
  flags.workers = 3;
  flags.code = "rs";
  flags.tolerate = 3;
  ExpectRefused(flags, "at most 2 can be missing");
}

TEST(PlanJob, RefusesUnknownNames) {
  JobFlags flags;
  flags.code = "heterogenous";
  ExpectRefused(flags, "'heterogeneous'");
  flags = JobFlags();
  flags.shares = "equl";
  ExpectRefused(flags, "--shares");
  flags = JobFlags();
  flags.optimizer.name = "adamw";
  ExpectRefused(flags, "--optimizer");
  flags = JobFlags();
  flags.model = "resnet";
  ExpectRefused(flags, "--model");
}

TEST(FitToData, CountsTheShortBatchAtTheEndOfAnEpoch) {
  JobFlags flags;
  flags.batch = 100;
  flags.epochs = 2;
  auto plan = PlanJob(flags, 0);
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(FitToData(flags, 250, *plan).ok());
  EXPECT_EQ(plan->steps_per_epoch, 3U);
  EXPECT_EQ(plan->job.steps, 6U);
  EXPECT_EQ(plan->SamplesIn(0), 0U);
  EXPECT_EQ(plan->SamplesIn(2), 200U);
  EXPECT_EQ(plan->SamplesIn(3), 250U);
  EXPECT_EQ(plan->SamplesIn(4), 350U);
}

TEST(FitToData, StepsReplaceEpochs) {
  JobFlags flags;
  flags.steps = 7;
  auto plan = PlanJob(flags, 0);
  ASSERT_TRUE(FitToData(flags, 1000, *plan).ok());
  EXPECT_EQ(plan->job.steps, 7U);
}

TEST(FitToData, RefusesMoreWorkersThanSamples) {
  JobFlags flags;
  flags.workers = 11;
  auto plan = PlanJob(flags, 0);
  EXPECT_EQ(FitToData(flags, 10, *plan).code(), StatusCode::kInvalidArgument);
}

TEST(FitToData, RefusesFaultsThatNeverStrike) {
  JobFlags flags;
  flags.steps = 10;
  flags.faults = {"kill:1@step=50"};
  auto plan = PlanJob(flags, 0);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(FitToData(flags, 1000, *plan).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
