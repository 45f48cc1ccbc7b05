// SPDX-License-Identifier: Apache-2.0
#include "sim/sim_cluster.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace motley {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

SimOptions Options(const std::string& code, uint32_t tolerate, std::vector<double> speeds,
                   const Dataset& data) {
  SimOptions options;
  options.job.model = {.name = "softmax", .features = data.features, .classes = data.classes};
  options.job.workers = static_cast<uint32_t>(speeds.size());
  options.job.batch = 32;
  options.job.steps = 30;
  options.job.code = code;
  options.job.tolerate = tolerate;
  for (const double speed : speeds) {
    WorkerProfile worker;
    worker.device.samples_per_second = speed;
    worker.link = {.latency_seconds = 1e-4, .bytes_per_second = 1e8};
    options.cluster.workers.push_back(worker);
  }
  return options;
}

SimResult RunJob(const SimOptions& options, const Dataset& data) {
  auto result = Simulate(options, data, nullptr);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (!result.ok()) return SimResult();
  EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
  EXPECT_THAT(result->violations, IsEmpty());
  EXPECT_EQ(result->job.steps, options.job.steps);
  EXPECT_EQ(result->job.discarded_steps, 0u);
  return *result;
}

class SimulateTest : public testing::Test {
 protected:
  const Dataset data_ = MakeSyntheticDataset(300, 8, 4, 3);
};

TEST_F(SimulateTest, TheSameSeedGivesTheSameDigestAndAnotherSeedAnotherOne) {
  SimOptions options = Options("rs", 1, {1000, 800, 500, 250}, data_);
  options.cluster.workers[1].device.jitter = 0.2;
  options.random_faults.pause_every = 0.2;
  options.random_faults.until_seconds = 1;
  const SimResult first = RunJob(options, data_);
  const SimResult second = RunJob(options, data_);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_EQ(first.tasks_run, second.tasks_run);
  options.seed = 2;
  EXPECT_NE(RunJob(options, data_).digest, first.digest);
}

TEST_F(SimulateTest, AnUncodedStepTakesAboutItsIdealTime) {
  const SimOptions options = Options("none", 0, {1000, 1000, 500, 250}, data_);
  const SimResult result = RunJob(options, data_);
  // Computing takes nearly all of it; parameters and vectors take a little time on the links.
  EXPECT_GE(result.ideal_step_seconds, 32 / 2750.0);
  EXPECT_LE(result.ideal_step_seconds, 1.05 * 32 / 2750.0);
  double total = 0;
  for (const double seconds : result.job.step_seconds) total += seconds;
  const double mean = total / static_cast<double>(result.job.step_seconds.size());
  EXPECT_GT(mean, result.ideal_step_seconds);
  EXPECT_LT(mean, 2 * result.ideal_step_seconds);
}

TEST_F(SimulateTest, AKilledWorkerIsReportedLostAndNothingElseChanges) {
  for (const char* code : {"repetition", "cyclic", "heterogeneous", "rs"}) {
    SimOptions options = Options(code, 1, {1000, 1000, 500, 250}, data_);
    const SimResult calm = RunJob(options, data_);
    options.faults = {*ParseFault("kill:2@step=10"), *ParseFault("pause:1@step=5,2s")};
    const SimResult hit = RunJob(options, data_);
    EXPECT_TRUE(hit.job.scheduler.workers[2].lost) << code;
    EXPECT_FALSE(hit.job.scheduler.workers[1].lost) << code;
    EXPECT_EQ(hit.live_workers, 3u) << code;
    double gap = 0;
    for (size_t i = 0; i < calm.job.parameters->size(); ++i) {
      gap = std::max(gap, std::abs<double>(calm.job.parameters->at(i) - hit.job.parameters->at(i)));
    }
    EXPECT_LT(gap, 1e-4) << code;
    EXPECT_LT(hit.serial_difference, 1e-5) << code;
  }
}

// A new plan may send data to a worker that stops at that moment. Steps must not wait for it as if
// transfers took seconds, even after answers that were late at first.
TEST_F(SimulateTest, APauseIsNotWaitedOutWheneverItBegins) {
  for (const char* early : {"", "pause:0@step=0,300ms", "pause:2@step=1,700ms"}) {
    for (int step = 4; step < 22; ++step) {
      SimOptions options = Options("none", 0, {1000, 1000, 1000, 1000}, data_);
      options.job.batch = 64;
      options.faults = {*ParseFault("slow:0@step=10,3x"),
                        *ParseFault(fmt::format("pause:1@step={},5s", step))};
      if (*early != 0) options.faults.push_back(*ParseFault(early));
      const std::vector<double> seconds = RunJob(options, data_).job.step_seconds;
      EXPECT_LT(seconds[step], 1.2) << step << " " << early;
    }
  }
}

TEST_F(SimulateTest, PausesAndSlowPhasesDoNotChangeABitOfRepetition) {
  for (const char* code : {"none", "repetition"}) {
    SimOptions options = Options(code, 1, {400, 400, 400, 400}, data_);
    options.job.shares = Shares::kEqual;
    const SimResult calm = RunJob(options, data_);
    options.faults = {*ParseFault("pause:1@step=5,20ms"), *ParseFault("slow:3@step=8,2x"),
                      *ParseFault("pause:0@step=20,15ms")};
    options.link_jitter_seconds = 0.002;
    const SimResult hit = RunJob(options, data_);
    ASSERT_EQ(hit.job.scheduler.replans, 0u) << code << ": a new plan changes the order of sums";
    EXPECT_NE(hit.digest, calm.digest) << code;
    EXPECT_EQ(*hit.job.parameters, *calm.job.parameters) << code;
  }
}

TEST_F(SimulateTest, ASpoiltAnswerIsRefusedAndTheWorkGoesOn) {
  SimOptions options = Options("none", 0, {1000, 1000, 500}, data_);
  options.faults = {*ParseFault("nan:1@step=5")};
  const SimResult result = RunJob(options, data_);
  EXPECT_EQ(result.job.scheduler.workers[1].rejected, 1u);
  EXPECT_FALSE(result.job.scheduler.workers[1].lost);
}

TEST_F(SimulateTest, ThreeSpoiltAnswersSendAWorkerAway) {
  SimOptions options = Options("repetition", 1, {1000, 1000, 1000, 1000}, data_);
  for (const char* fault : {"nan:1@step=2", "nan:1@step=3", "nan:1@step=4", "nan:1@step=5"}) {
    options.faults.push_back(*ParseFault(fault));
  }
  const SimResult result = RunJob(options, data_);
  EXPECT_TRUE(result.job.scheduler.workers[1].lost);
  EXPECT_EQ(result.reached.at("worker sent away"), 1u);
}

// Eight workers are each a hundred times as fast as the server, and audits have their own device,
// as in jobs. The test shows that steps do not wait for audits unless every drawn audit is wanted,
// and that audits begin only as often as their share of the time allows. It does not show what
// audits cost the server's other threads.
TEST_F(SimulateTest, AuditsTakeNoThroughput) {
  SimOptions options = Options("none", 0, std::vector<double>(8, 1000), data_);
  options.job.steps = 3000;
  options.audit_samples_per_second = 10;
  options.job.audit_fraction = 0;
  const SimResult none = RunJob(options, data_);
  options.job.audit_fraction = JobOptions().audit_fraction;
  const SimResult audited = RunJob(options, data_);
  EXPECT_LT(audited.job.wall_seconds, 1.01 * none.job.wall_seconds);
  EXPECT_GE(audited.job.audited_steps, 1u);
  const double spent = 3.2 * static_cast<double>(audited.job.audited_steps - 1);
  EXPECT_LT(spent, 0.02 * audited.job.wall_seconds);
  options.job.audit_time = 0;  // Makes every audit that is drawn.
  EXPECT_GT(RunJob(options, data_).job.wall_seconds, 1.01 * none.job.wall_seconds);
}

TEST_F(SimulateTest, ALiarIsNamedInTheFirstStepThatItSpoils) {
  for (const char* code :
       {"none", "repetition", "cyclic", "heterogeneous", "group", "rs", "graph", "multi-message",
        "short", "partial-coded", "adaptive", "approximate", "auto"}) {
    SCOPED_TRACE(code);
    SimOptions options = Options(code, 1, {1000, 1000, 1000, 1000}, data_);
    options.job.audit_fraction = 1;
    options.job.audit_time = 0;
    options.audit_samples_per_second = 5000;
    options.faults = {*ParseFault("lie:2@step=7,-0.5x")};
    for (WorkerProfile& worker : options.cluster.workers) worker.device.jitter = 0.2;
    const SimResult result = RunJob(options, data_);
    ASSERT_GE(result.job.audit_failures, 1u);
    EXPECT_EQ(result.job.audit.warnings.front().worker, 2u);
    EXPECT_GE(result.job.audit.warnings.front().step, 7u);
    EXPECT_TRUE(result.job.scheduler.workers[2].lost);
    EXPECT_EQ(result.live_workers, 3u);
  }
}

TEST_F(SimulateTest, ATrainerOfTheCallersGivesASerialRunsParametersUnderFaultsWithEveryCode) {
  const Dataset data = MakeSyntheticDataset(400, 6, 0, 3);
  for (const char* code :
       {"none", "repetition", "cyclic", "heterogeneous", "rs", "short", "partial-coded"}) {
    for (const SimTrainer trainer : {SimTrainer::kSquares, SimTrainer::kSquaresOwnData}) {
      SimOptions options = Options(code, 1, {1000, 1000, 500, 250}, data);
      options.trainer = trainer;
      options.job.audit_fraction = 1;
      options.job.optimizer.l2 = 1e-3;
      options.faults = {*ParseFault("kill:2@step=10"), *ParseFault("pause:1@step=5,2s"),
                        *ParseFault("nan:0@step=12"), *ParseFault("slow:3@step=8,3x")};
      const SimResult hit = RunJob(options, data);
      EXPECT_TRUE(hit.job.scheduler.workers[2].lost) << code;
      EXPECT_LT(hit.serial_difference, 1e-5) << code;
      EXPECT_EQ(hit.job.parameters->size(), 7u);
      EXPECT_GT(hit.job.audited_steps, 20u) << code;
      EXPECT_LT(hit.job.max_decode_error, 1e-4) << code;
      EXPECT_LT(hit.job.batch_loss.back(), hit.job.batch_loss.front() / 10) << code;
    }
  }
}

// No speed is measured before the work, so all workers begin with equal shares.
TEST_F(SimulateTest, SpeedsOfACallersTrainerAreLearnedFromItsWork) {
  const Dataset data = MakeSyntheticDataset(2000, 6, 0, 3);
  SimOptions options = Options("none", 0, {4000, 4000, 2000, 1000}, data);
  options.trainer = SimTrainer::kSquaresOwnData;
  options.job.batch = 320;
  options.job.steps = 80;
  const SimResult result = RunJob(options, data);
  const auto& workers = result.job.scheduler.workers;
  EXPECT_GT(workers[0].share, 2.5 * workers[3].share);
  EXPECT_GT(result.reached.at("replanned for speed"), 0u);
  double late = 0;
  const size_t half = options.job.steps / 2;
  for (size_t i = half; i < options.job.steps; ++i) late += result.job.step_seconds[i];
  EXPECT_LT(late / static_cast<double>(half), 1.5 * result.ideal_step_seconds);
}

TEST_F(SimulateTest, ASlowedWorkerIsGivenLess) {
  SimOptions options = Options("none", 0, {1000, 1000, 1000, 1000}, data_);
  options.job.steps = 60;
  options.faults = {*ParseFault("slow:0@step=10,5x")};
  const SimResult result = RunJob(options, data_);
  EXPECT_LT(result.job.scheduler.workers[0].share, 0.15);
  EXPECT_GT(result.job.scheduler.workers[1].share, 0.25);
}

TEST_F(SimulateTest, TheJobLivesWhileOneWorkerLives) {
  SimOptions options = Options("rs", 1, {1000, 1000, 1000}, data_);
  options.faults = {*ParseFault("kill:0@step=3"), *ParseFault("kill:2@step=7")};
  const SimResult result = RunJob(options, data_);
  EXPECT_EQ(result.live_workers, 1u);
  EXPECT_GT(result.job.scheduler.rows_reassigned + result.job.scheduler.replans, 0u);
}

TEST_F(SimulateTest, AWorkerStillStoppedWhenTheJobEndsHearsOfItWhenItGoesOn) {
  SimOptions options = Options("rs", 1, {1000, 1000, 1000}, data_);
  options.faults = {*ParseFault("pause:0@step=5,86400s")};
  const SimResult result = RunJob(options, data_);
  EXPECT_LT(result.virtual_seconds, 3600) << "the job itself does not wait";
}

// All links break or carry nothing again and again, and a stranger keeps connecting.
TEST_F(SimulateTest, ATornNetworkChangesNothingThatIsLearned) {
  for (const char* code : {"none", "rs", "heterogeneous", "multi-message", "adaptive", "auto"}) {
    SCOPED_TRACE(code);
    SimOptions options =
        Options(code, std::string(code) == "none" ? 0 : 1, {1000, 800, 500}, data_);
    options.job.steps = 60;
    options.heartbeat = true;
    options.random_faults.cut_every = 0.2;
    options.random_faults.blackout_every = 0.3;
    options.random_faults.stranger_every = 0.05;
    options.random_faults.until_seconds = 3;
    const SimResult result = RunJob(options, data_);
    EXPECT_GT(result.reached.at("connection cut"), 0u);
    EXPECT_GT(result.reached.at("all workers gone for a while"), 0u);
    EXPECT_GT(result.reached.at("stranger came"), 10u);
    EXPECT_LT(result.serial_difference, 1e-5);
  }
}

TEST_F(SimulateTest, WithoutWorkersItSaysThatItCannotGoOn) {
  SimOptions options = Options("rs", 1, {1000, 1000}, data_);
  options.faults = {*ParseFault("kill:0@step=3"), *ParseFault("kill:1@step=7")};
  const auto result = Simulate(options, data_, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->job.status.code(), StatusCode::kUnavailable);
  EXPECT_EQ(result->live_workers, 0u);
  EXPECT_THAT(result->violations, IsEmpty());
}

TEST_F(SimulateTest, AJobThatTakesTooLongEndsWithHowFarItCame) {
  SimOptions options = Options("none", 0, {10}, data_);
  options.max_virtual_seconds = 20;
  const auto result = Simulate(options, data_, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->job.status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(result->job.status.message(), HasSubstr("of 30"));
  EXPECT_GE(result->virtual_seconds, 20);
  EXPECT_THAT(result->violations, IsEmpty());
}

TEST_F(SimulateTest, AJobMayTakeAsLongAsItsStepsDo) {
  SimOptions options = Options("none", 0, {0.05}, data_);
  options.job.start_timeout = std::chrono::hours(24);  // The worker first measures its speed.
  options.max_virtual_seconds = std::numeric_limits<double>::infinity();
  const auto result = Simulate(options, data_, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_TRUE(result->job.status.ok()) << result->job.status.ToString();
  EXPECT_GT(result->virtual_seconds, 3600);
  EXPECT_THAT(result->violations, IsEmpty());
}

// A transfer that would take longer than the clock's range must not end at once.
TEST_F(SimulateTest, WhatNeverComesIsNotThereAtOnce) {
  SimOptions options = Options("none", 0, {1000, 1000}, data_);
  options.cluster.workers[1].link.bytes_per_second = 1e-12;
  const auto result = Simulate(options, data_, nullptr);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->job.scheduler.workers[1].steps_in_time, 0u);
  EXPECT_THAT(result->violations, IsEmpty());
}

TEST_F(SimulateTest, OptionsThatCannotWorkAreNamed) {
  const SimOptions good = Options("rs", 1, {1000, 1000}, data_);
  SimOptions options = good;
  options.cluster.workers.pop_back();
  EXPECT_THAT(Simulate(options, data_, nullptr).status().message(), HasSubstr("2 workers"));
  options = good;
  options.cluster.workers[1].device.samples_per_second = 0;
  EXPECT_THAT(Simulate(options, data_, nullptr).status().message(), HasSubstr("worker 1"));
  options = good;
  options.faults = {*ParseFault("kill:2@step=0")};
  EXPECT_THAT(Simulate(options, data_, nullptr).status().message(), HasSubstr("no worker 2"));
  options = good;
  options.job.tolerate = 2;
  const auto refused = Simulate(options, data_, nullptr);
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << refused.status().ToString();
}

TEST(SyntheticDataset, IsTheSameForTheSameSeedAndHasItsShape) {
  const Dataset a = MakeSyntheticDataset(50, 7, 3, 9);
  const Dataset b = MakeSyntheticDataset(50, 7, 3, 9);
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.label, b.label);
  EXPECT_EQ(a.rows(), 50u);
  EXPECT_EQ(a.dense.size(), 350u);
  EXPECT_NE(MakeSyntheticDataset(50, 7, 3, 10).dense, a.dense);
  for (const float label : a.label) EXPECT_TRUE(label == 0 || label == 1 || label == 2);
}

TEST(SyntheticDataset, SoftmaxLearnsIt) {
  const Dataset data = MakeSyntheticDataset(600, 10, 3, 4);
  SimOptions options = Options("none", 0, {1000, 1000}, data);
  options.job.steps = 100;
  const SimResult result = RunJob(options, data);
  EXPECT_GT(result.job.batch_loss.front(), 1.0);
  EXPECT_LT(result.job.batch_loss.back(), 0.2);
}

TEST_F(SimulateTest, EveryKindOfModelIsTrainedThroughFaultsAsIfAlone) {
  for (const char* name : {"cnn:4,6/8", "mlp:12,norm,6", "factorization:3", "hinge"}) {
    const bool machine = std::string_view(name) == "factorization:3";
    const uint32_t classes = machine ? 0 : std::string_view(name) == "hinge" ? 2 : 4;
    const Dataset data = MakeSyntheticDataset(300, 16, classes, 3);
    SimOptions options = Options("heterogeneous", 1, {1000, 1000, 500, 250}, data);
    options.job.model.name = name;
    options.job.steps = 60;
    if (machine) options.job.optimizer.learning_rate /= 10;
    options.faults = {*ParseFault("kill:2@step=10"), *ParseFault("pause:1@step=5,2s")};
    const SimResult result = RunJob(options, data);
    EXPECT_LT(result.serial_difference, 1e-4) << name;
    EXPECT_LT(result.job.batch_loss.back(), 0.5 * result.job.batch_loss.front()) << name;
  }
}

TEST(SyntheticDataset, WithoutClassesTheLabelsFollowALine) {
  const Dataset data = MakeSyntheticDataset(600, 10, 0, 4);
  SimOptions options = Options("none", 0, {1000, 1000}, data);
  options.job.model.name = "linear";
  options.job.steps = 100;
  const SimResult result = RunJob(options, data);
  EXPECT_GT(result.job.batch_loss.front(), 1.0);
  EXPECT_LT(result.job.batch_loss.back(), 0.05) << "the noise alone is 0.005";
}

}  // namespace
}  // namespace motley
