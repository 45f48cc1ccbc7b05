// SPDX-License-Identifier: Apache-2.0
#include "api/request/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

void ExpectRefused(const JobRequest& request, const char* why, uint32_t elsewhere = 0) {
  const auto plan = PlanJob(request, elsewhere);
  ASSERT_FALSE(plan.ok()) << why;
  EXPECT_EQ(plan.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(plan.status().ToString(), HasSubstr(why));
}

TEST(PlanJob, TakesTheNumberOfWorkersFromTheSpeeds) {
  JobRequest request;
  request.speeds = "1,1,0.5";
  const auto plan = PlanJob(request, 0);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->job.workers, 3U);
  EXPECT_THAT(plan->speeds, ElementsAre(1, 1, 0.5));
}

TEST(PlanJob, StartsTwoWorkersUnlessTold) {
  EXPECT_EQ(PlanJob(JobRequest(), 0)->job.workers, 2U);
  JobRequest request;
  request.workers = 5;
  EXPECT_EQ(PlanJob(request, 0)->job.workers, 5U);
}

TEST(PlanJob, RoundsWhatTravels) {
  JobRequest request;
  EXPECT_EQ(PlanJob(request, 0)->job.wire, WireFormat::kFloat32);
  EXPECT_GT(PlanJob(request, 0)->job.audit_fraction, 0);
  for (const WireFormat wire : {WireFormat::kBf16, WireFormat::kInt8}) {
    request.wire = NameOf(wire);
    const auto plan = PlanJob(request, 0);
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    EXPECT_EQ(plan->job.wire, wire);
    EXPECT_EQ(plan->job.audit_fraction, 0);
    EXPECT_EQ(plan->job.unweighted, wire == WireFormat::kInt8);
    EXPECT_EQ(plan->rounding_noise, 1);
  }
  request.wire = "fp16";
  ExpectRefused(request, "`wire`");
  request.wire = "int8";
  request.audit = 0.1;
  ExpectRefused(request, "would take rounding for a wrong answer");
  request.audit = 0;
  request.workers = 8;
  request.tolerate = 2;
  request.code = "heterogeneous";
  const auto plan = PlanJob(request, 0);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_NE(plan->rounding_noise, 1);
  EXPECT_LT(plan->rounding_noise, 20);
  request.code = "cyclic";
  request.workers = 24;
  request.tolerate = 8;
  ExpectRefused(request, "multiplies the variance of rounding");
  request.wire = "float32";
  EXPECT_TRUE(PlanJob(request, 0).ok());
}

TEST(PlanJob, UpdatesWithoutABarrierHaveNoCodes) {
  JobRequest request;
  request.sync = "asp";
  request.workers = 4;
  request.open.tolerate = false;
  request.tolerate = 0;
  EXPECT_TRUE(PlanJob(request, 0).ok());
  request.tolerate = 1;
  ExpectRefused(request, "`tolerate`: with `sync` asp each answer is an update of its own");
  request.open.tolerate = true;
  EXPECT_TRUE(PlanJob(request, 0).ok());
  request.quorum = 2;
  ExpectRefused(request, "`quorum`: with `sync` asp");
  request.quorum = 0;
  request.step_deadline = "1s";
  ExpectRefused(request, "`step_deadline`: with `sync` asp");
  request.sync = "local:2";
  EXPECT_TRUE(PlanJob(request, 0).ok());
}

TEST(PlanJob, RefusesOuterNumbersThatRoundToImpossibleOnes) {
  JobRequest request;
  request.sync = "local:2";
  request.outer_momentum = 0.99999999;
  ExpectRefused(request, "`outer_momentum` 0.99999999: it must be below 1");
  request.outer_momentum = -1;
  for (const double rate : {-1.0, 1e-320, 101.0, std::nan("")}) {
    request.outer_rate = rate;
    ExpectRefused(request, "it must be from 1e-45 to 100");
  }
  request.outer_rate = 1e-45;
  EXPECT_TRUE(PlanJob(request, 0).ok());
  request.outer_rate = 100;
  EXPECT_TRUE(PlanJob(request, 0).ok());
}

TEST(PlanJob, TheCutOfTheSamplesMayBeGiven) {
  JobRequest request;
  request.workers = 3;
  request.code = "heterogeneous";
  EXPECT_EQ(PlanJob(request, 0)->job.partitions, 0U);  // The server chooses.
  request.partitions = 12;
  JobPlan plan = PlanJob(request, 0).value();
  EXPECT_EQ(plan.job.partitions, 12U);
  EXPECT_TRUE(FitToData(request, 12, plan).ok());
  EXPECT_THAT(FitToData(request, 11, plan).message(), HasSubstr("there are only 11 training"));
  request.partitions = 2;
  ExpectRefused(request, "`partitions` 2: a worker computes whole ones");
}

TEST(PlanJob, PeopleHaveMoreTimeToStartWorkersThanAProgram) {
  JobRequest request;
  request.data = "there";
  EXPECT_EQ(PlanRealJob(request)->job.start_timeout, JobOptions().start_timeout);
  request.role = MOTLEY_SERVER;
  EXPECT_EQ(PlanRealJob(request)->job.start_timeout, kPeoplesTime);
}

TEST(PlanJob, AServerBeginsWithOneWorkerFromElsewhereUnlessTold) {
  JobRequest request;
  request.data = "there";
  request.role = MOTLEY_SERVER;
  const auto least = [&] { return PlanRealJob(request)->job.least_workers; };
  EXPECT_EQ(least(), 1U);
  request.worker_command = {"motley", "worker"};
  EXPECT_EQ(least(), 2U) << "one of them is its own";
  request.devices = "cpu,cuda:0";
  EXPECT_EQ(least(), 3U) << "two are its own";
  request.workers = 2;
  EXPECT_EQ(least(), 2U) << "it takes no more";
  request.min_workers = 1;
  EXPECT_EQ(least(), 1U);
}

TEST(PlanJob, AServerWaitsForMoreWhereTheirNumberIsSaidWithoutALeast) {
  JobRequest request;
  request.data = "there";
  request.role = MOTLEY_SERVER;
  const auto gather = [&] { return *PlanRealJob(request)->job.gather_time; };
  EXPECT_EQ(gather(), Duration::zero());
  request.workers = 8;
  EXPECT_EQ(gather(), kGatherTime);
  request.min_workers = 2;
  EXPECT_EQ(gather(), Duration::zero());
  request.open.wait = false;
  request.wait = std::chrono::seconds(7);
  EXPECT_EQ(gather(), std::chrono::seconds(7));
}

TEST(PlanJob, ShardServersHoldTheVectorOfAServedJob) {
  JobRequest request;
  request.data = "there";
  request.reduce = "sharded:2";
  EXPECT_THAT(PlanRealJob(request).status().message(), HasSubstr("motley train --remote"));
  request.role = MOTLEY_SERVER;
  auto plan = PlanRealJob(request);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->job.holders, JobOptions::Holders::kShardServers);
  EXPECT_EQ(plan->job.shard_servers, 2U);
  EXPECT_EQ(plan->job.followers, 1U);
  EXPECT_EQ(plan->job.audit_fraction, 0.02);
  request.audit = 0.5;
  EXPECT_EQ(PlanRealJob(request)->job.audit_fraction, 0.5);
  request.audit = 0;
  for (const char* wrong : {"sharded:0", "sharded:65", "sharded:", "sharded"}) {
    request.reduce = wrong;
    EXPECT_EQ(PlanRealJob(request).status().code(), StatusCode::kInvalidArgument) << wrong;
  }
  for (const char* spare : {"direct", "auto"}) {
    request.reduce = spare;
    EXPECT_EQ(PlanRealJob(request)->job.shard_servers, kMostShardServers) << spare;
  }
  request.reduce = "star";
  EXPECT_EQ(PlanRealJob(request)->job.shard_servers, 0U);
}

TEST(PlanJob, RefusesFollowersOfAVectorThatTheServerKeeps) {
  JobRequest request;
  request.data = "there";
  request.followers = 2;
  const auto refusal = [&] { return PlanRealJob(request).status().message(); };
  EXPECT_THAT(refusal(), HasSubstr("`followers` 2: all workers of this job are on one machine"));
  EXPECT_THAT(refusal(), HasSubstr("Leave `followers` out")) << "without it the job is right";
  EXPECT_THAT(refusal(), Not(HasSubstr("sharded"))) << "it would be refused here, too";
  request.reduce = "star";
  EXPECT_THAT(refusal(), HasSubstr("`followers` 2: with `reduce` star"));
  request.role = MOTLEY_SERVER;
  EXPECT_THAT(refusal(), HasSubstr("`followers` 2: with `reduce` star"));
  request.reduce = "auto";
  request.sync = "asp";
  EXPECT_THAT(refusal(), HasSubstr("`followers` 2: with `sync` asp"));
  request.sync = "bsp";
  EXPECT_EQ(PlanRealJob(request)->job.followers, 2U);
  request.followers = 0;
  EXPECT_EQ(PlanRealJob(request)->job.followers, 0U);
  request.followers = 4;
  EXPECT_THAT(PlanRealJob(request).status().message(), HasSubstr("from 0 to 3"));
}

TEST(PlanJob, AServerChoosesWhoHoldsTheVectorIfItMay) {
  JobRequest request;
  request.data = "there";
  request.reduce = "auto";
  using Why = notice::StarKept::Why;
  EXPECT_EQ(PlanRealJob(request)->job.holders, JobOptions::Holders::kServer) << "all in one";
  EXPECT_EQ(PlanRealJob(request)->job.star_kept, Why::kHere);
  request.role = MOTLEY_SERVER;
  EXPECT_EQ(PlanRealJob(request)->job.holders, JobOptions::Holders::kChosen);
  EXPECT_EQ(PlanRealJob(request)->job.star_kept, std::nullopt);
  request.sync = "asp";
  EXPECT_EQ(PlanRealJob(request)->job.holders, JobOptions::Holders::kServer);
  EXPECT_EQ(PlanRealJob(request)->job.shard_servers, 0U);
  EXPECT_EQ(PlanRealJob(request)->job.star_kept, Why::kNoBarrier);
  request.reduce = "star";
  EXPECT_EQ(PlanRealJob(request)->job.star_kept, std::nullopt) << "it was asked for";
}

TEST(PlanJob, BackupWorkersAreAQuorum) {
  JobRequest request;
  request.data = "there";
  request.workers = 5;
  request.sync = "backup:2";
  const Result<JobPlan> plan = PlanRealJob(request);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->job.code, "approximate");
  EXPECT_EQ(plan->job.quorum, 3U);
  EXPECT_EQ(plan->job.tolerate, 0U);
  EXPECT_EQ(NameOf(plan->job.sync), "backup:2");
}

TEST(PlanJob, DanaHasNesterovsMomentum) {
  JobRequest request;
  request.data = "there";
  request.sync = "dana";
  const Result<JobPlan> plan = PlanRealJob(request);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->job.optimizer.name, "nag");
  EXPECT_EQ(OptimizerOf(plan->job).states, plan->job.workers);
}

TEST(PlanJob, RefusesAsManySpeedsAsDoNotFit) {
  JobRequest request;
  request.workers = 4;
  request.speeds = "1,2";
  ExpectRefused(request, "`workers` 4");
}

TEST(PlanJob, RefusesAsManyWorkersAsTheClusterHasNot) {
  JobRequest request;
  request.workers = 4;
  ExpectRefused(request, "3 workers", 3);
  request.workers = 3;
  EXPECT_TRUE(PlanJob(request, 3).ok());
}

TEST(PlanJob, RefusesTooManyWorkersBeforeItBuildsTheirCode) {
  JobRequest request;
  for (const char* code : {"none", "rs"}) {
    request.code = code;
    for (const uint32_t workers : {4097U, 1U << 28, 1U << 30}) {
      request.workers = workers;
      ExpectRefused(request, "at most 1024 workers");
    }
  }
  request.workers = 257;
  const auto local = PlanJob(request, 0, kMostLocalWorkers);
  EXPECT_EQ(local.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(local.status().ToString(), HasSubstr("at most 256 workers are started on one"));
  EXPECT_THAT(local.status().ToString(), HasSubstr("up to 1024 that are started elsewhere"));
  request.workers = 256;
  EXPECT_TRUE(PlanJob(request, 0, kMostLocalWorkers).ok());
}

TEST(PlanJob, WithoutACodeNothingIsTolerated) {
  JobRequest request;
  request.workers = 1;
  request.tolerate = 1;
  EXPECT_EQ(PlanJob(request, 0)->job.tolerate, 0U);
}

TEST(PlanJob, CutsGradientsIntoTwoPartsUnlessItIsTold) {
  JobRequest request;
  request.workers = 5;
  request.code = "short";
  EXPECT_EQ(PlanJob(request, 0)->job.parts, 2U);
  request.parts = 4;
  EXPECT_EQ(PlanJob(request, 0)->job.parts, 4U);
  request.parts = 5;
  ExpectRefused(request, "fewer parts");
}

TEST(PlanJob, TheFastestWorkersMustBeEnoughForTheCode) {
  JobRequest request;
  request.workers = 4;
  request.speeds = "1,2,1,2";
  request.code = "none";
  request.fastest = 2;
  EXPECT_EQ(PlanJob(request, 0)->job.most_workers, 2U);
  request.code = "rs";
  request.tolerate = 2;
  ExpectRefused(request, "with 2 workers at most 1 can be missing");
  request.code = "adaptive";
  ExpectRefused(request, "chooses by itself which workers compute");
}

TEST(PlanJob, SaysHowManyMayBeMissingAtMost) {
  JobRequest request;
  request.workers = 3;
  request.code = "rs";
  request.tolerate = 3;
  ExpectRefused(request, "at most 2 can be missing");
}

TEST(PlanJob, RefusesUnknownNames) {
  JobRequest request;
  request.code = "heterogenous";
  ExpectRefused(request, "'heterogeneous'");
  request = JobRequest();
  request.shares = "equl";
  ExpectRefused(request, "`shares`");
  request = JobRequest();
  request.optimizer.name = "adamax";
  ExpectRefused(request, "`optimizer`");
  request = JobRequest();
  request.model = "resnet";
  ExpectRefused(request, "`model`");
}

TEST(FitToData, CountsTheShortBatchAtTheEndOfAnEpoch) {
  JobRequest request;
  request.batch = 100;
  request.epochs = 2;
  auto plan = PlanJob(request, 0);
  ASSERT_TRUE(plan.ok());
  ASSERT_TRUE(FitToData(request, 250, *plan).ok());
  EXPECT_EQ(plan->steps_per_epoch, 3U);
  EXPECT_EQ(plan->job.steps, 6U);
  EXPECT_EQ(plan->SamplesIn(0), 0U);
  EXPECT_EQ(plan->SamplesIn(2), 200U);
  EXPECT_EQ(plan->SamplesIn(3), 250U);
  EXPECT_EQ(plan->SamplesIn(4), 350U);
}

TEST(FitToData, TurnsShareBatchesThatTheDataHave) {
  struct Case {
    uint32_t batch, samples, turns;
  };
  for (const Case& each : {Case{32, 1438, 8},
                           {179, 1438, 8},
                           {400, 1438, 3},
                           {800, 1438, 1},
                           {2000, 1438, 1},
                           {1, 1438, 1},
                           {1U << 30, 4294967295U, 2}}) {
    JobRequest request;
    request.sync = "r2sp";
    request.workers = 8;
    request.batch = each.batch;
    request.epochs = 1;
    auto plan = PlanJob(request, 0);
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    ASSERT_TRUE(FitToData(request, each.samples, *plan).ok());
    EXPECT_EQ(plan->job.turns, each.turns) << each.batch;
    EXPECT_EQ(plan->job.batch, each.batch * each.turns) << "the batch that was asked for";
    EXPECT_EQ(plan->job.steps, (uint64_t{each.samples} + each.batch - 1) / each.batch);
    EXPECT_EQ(plan->SamplesIn(plan->job.steps), each.samples);
  }
}

TEST(FitToData, StepsReplaceEpochs) {
  JobRequest request;
  request.steps = 7;
  auto plan = PlanJob(request, 0);
  ASSERT_TRUE(FitToData(request, 1000, *plan).ok());
  EXPECT_EQ(plan->job.steps, 7U);
}

TEST(FitToData, RefusesMoreWorkersThanSamples) {
  JobRequest request;
  request.workers = 11;
  auto plan = PlanJob(request, 0);
  EXPECT_EQ(FitToData(request, 10, *plan).code(), StatusCode::kInvalidArgument);
}

TEST(FitToData, RefusesFaultsThatNeverStrike) {
  JobRequest request;
  request.steps = 10;
  request.faults = {"kill:1@step=50"};
  auto plan = PlanJob(request, 0);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(FitToData(request, 1000, *plan).code(), StatusCode::kInvalidArgument);
}

TEST(FitToData, RefusesMoreStepsThanCanBeCounted) {
  JobRequest request;
  request.batch = 1;
  request.epochs = 1U << 30;
  auto plan = PlanJob(request, 0);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  const Status refused = FitToData(request, UINT32_MAX, *plan);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.ToString(), HasSubstr("`epochs` 1073741824"));
}

}  // namespace
}  // namespace motley
