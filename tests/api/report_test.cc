// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "api/reports/audit_text.h"
#include "api/reports/job_report.h"
#include "api/reports/notice_text.h"
#include "api/request/fault_script.h"
#include "api/workers/emulation.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

using testing::ElementsAre;

struct Example {
  Example() {
    plan.job.workers = 2;
    plan.job.batch = 100;
    plan.job.code = "repetition";
    plan.job.model.name = "softmax";
    plan.job.model.classes = 3;
    plan.samples = 250;
    plan.steps_per_epoch = 3;
    job.steps = 6;
    job.wall_seconds = 2;
    job.step_seconds = {0.1, 0.3, 0.2};
    job.slowest_seconds = 0.3;
    job.slowest_step = 1;
    job.held_bytes = {1000, 2000};
    job.worker_names = {"worker-0", "worker-1"};
    job.scheduler.workers.resize(2);
    job.scheduler.workers[0] = {.speed = 200,
                                .share = 1.5,
                                .samples = 600,
                                .steps_in_time = 6,
                                .placed_partitions = 4,
                                .joined = true};
    job.scheduler.workers[1] = {.speed = 50,
                                .samples = 100,
                                .steps_in_time = 2,
                                .late = 1,
                                .placed_partitions = 3,
                                .joined = true,
                                .lost = true};
  }
  TrainReport Report() const {
    return {plan,
            job,
            Evaluation{.loss = 0.5, .accuracy = 0.9},
            Evaluation{.loss = 0.6, .accuracy = 0.85},
            {},
            {}};
  }

  JobPlan plan;
  JobResult job;
};

TEST(TrainJson, OutlivesNamesThatAreNoText) {
  Example example;
  example.job.worker_names[1] = "caf\xE9";
  const auto json = nlohmann::json::parse(TrainJson(example.Report()));
  EXPECT_EQ(json["workers"][1]["name"], "caf\xEF\xBF\xBD");
  EXPECT_EQ(json["steps"], 6);
}

TEST(TrainJson, HasTheDocumentedKeys) {
  const Example example;
  const auto json = nlohmann::json::parse(TrainJson(example.Report()));
  EXPECT_EQ(json["steps"], 6);
  EXPECT_DOUBLE_EQ(json["epochs"], 2);
  EXPECT_DOUBLE_EQ(json["final_loss"], 0.5);
  EXPECT_DOUBLE_EQ(json["test_accuracy"], 0.85);
  EXPECT_DOUBLE_EQ(json["steps_per_second"], 3);
  EXPECT_DOUBLE_EQ(json["samples_per_second"], 250);
  EXPECT_DOUBLE_EQ(json["step_seconds"]["median"], 0.2);
  EXPECT_DOUBLE_EQ(json["step_seconds"]["p99"], 0.3);
  EXPECT_DOUBLE_EQ(json["step_seconds"]["max"], 0.3);
  EXPECT_EQ(json["step_seconds"]["max_step"], 1);
  EXPECT_EQ(json["data_transfers"], 7);
  EXPECT_DOUBLE_EQ(json["workers"][0]["share"], 1.2) << "600 of two epochs of 250 samples";
  EXPECT_DOUBLE_EQ(json["workers"][0]["share_at_end"], 1.5);
  EXPECT_DOUBLE_EQ(json["workers"][1]["share"], 0.2) << "though nothing is left to it";
  for (const char* key : {"wall_seconds", "discarded_steps", "max_decode_error", "code", "tolerate",
                          "tolerate_at_end", "seed", "replans", "rows_reassigned"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

TEST(TrainJson, SaysWhoSumsTheVector) {
  Example example;
  const auto reduce = [&](const std::string& said) {
    TrainReport report = example.Report();
    report.reduction = said;
    return nlohmann::json::parse(TrainJson(report)).at("reduce");
  };
  EXPECT_EQ(reduce(""), nlohmann::json({{"by", "star"}}));
  const auto nobody = [](WorkerId) { return std::string(); };
  notice::VectorPlaced placed;
  placed.nodes = {1, 2};
  placed.choice.kind = Reduce::kDirect;
  placed.choice.ranges = {{0, 0, 30}, {1, 30, 40}};
  placed.choice.cost.exchange.total = 0.5;
  placed.choice.reason.kind = ReduceReason::Kind::kFaster;
  placed.choice.reason.star.exchange.total = 1.5;
  const auto direct = reduce(ReductionJson(placed, "because", nobody));
  EXPECT_EQ(direct["by"], "direct");
  EXPECT_EQ(direct["why"], "because");
  EXPECT_DOUBLE_EQ(direct["seconds"], 0.5);
  EXPECT_DOUBLE_EQ(direct["star_seconds"], 1.5);
  EXPECT_EQ(direct["parts"][0]["node"], "worker 1");
  EXPECT_DOUBLE_EQ(direct["parts"][1]["part"], 0.25);
  placed.choice = {.cost = placed.choice.reason.star, .reason = placed.choice.reason};
  placed.choice.reason.kind = ReduceReason::Kind::kNoGain;
  const auto measured = reduce(ReductionJson(placed, "no gain", nobody));
  EXPECT_EQ(measured["by"], "star");
  EXPECT_DOUBLE_EQ(measured["seconds"], 1.5);
  EXPECT_FALSE(measured.contains("parts"));
  const auto star =
      ReductionJson(notice::StarKept{notice::StarKept::Why::kHere, 1e6}, "why", nobody);
  EXPECT_EQ(reduce(star), nlohmann::json({{"by", "star"}, {"why", "why"}}));
  EXPECT_EQ(ReductionJson(notice::ShardsGained{1, 2}, "text", nobody), "");
}

TEST(TrainJson, SaysWhatAuditsFound) {
  Example example;
  example.job.audited_steps = 4;
  example.job.audit.max_difference = 1e-7;
  const auto audit = [&] { return nlohmann::json::parse(TrainJson(example.Report())).at("audit"); };
  EXPECT_EQ(audit()["steps"], 4);
  EXPECT_DOUBLE_EQ(audit()["tolerance"], 1e-4);
  EXPECT_DOUBLE_EQ(audit()["largest_difference"], 1e-7);
  EXPECT_EQ(audit()["failures"], 0);
  EXPECT_TRUE(audit()["warnings"].empty());
  example.job.audit_failures = 2;
  example.job.audit.warnings = {
      {.step = 5, .worker = 1, .name = "pc", .difference = 1.5, .sent_away = true, .off = "loss"},
      {.step = 6, .difference = 0.5, .kind = AuditWarning::Kind::kSum}};
  const auto warnings = audit()["warnings"];
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0]["step"], 5);
  EXPECT_EQ(warnings[0]["worker"], 1);
  EXPECT_EQ(warnings[0]["name"], "pc");
  EXPECT_DOUBLE_EQ(warnings[0]["difference"], 1.5);
  EXPECT_EQ(warnings[0]["sent_away"], true);
  EXPECT_EQ(warnings[0]["message"], AuditText(example.job.audit.warnings[0]));
  EXPECT_FALSE(warnings[1].contains("worker"));
}

TEST(TrainJson, ApproximateStepsAreCountedWithTheirError) {
  Example example;
  EXPECT_FALSE(nlohmann::json::parse(TrainJson(example.Report())).contains("approximate"));
  example.plan.job.code = "approximate";
  example.job.approximate = {.steps = 4, .error_sum = 0.5, .max_error = 0.25};
  const auto json = nlohmann::json::parse(TrainJson(example.Report()));
  EXPECT_EQ(json["approximate"]["steps"], 4);
  EXPECT_DOUBLE_EQ(json["approximate"]["mean_error"], 0.125);
  EXPECT_DOUBLE_EQ(json["approximate"]["max_error"], 0.25);
}

TEST(TrainJson, SaysHowOldGradientsWereWithoutABarrier) {
  Example example;
  EXPECT_FALSE(nlohmann::json::parse(TrainJson(example.Report())).contains("staleness"));
  example.plan.job.sync.one_each = true;
  example.job.staleness = {.updates = 4, .sum = 6, .max = 3};
  const auto json = nlohmann::json::parse(TrainJson(example.Report()));
  EXPECT_DOUBLE_EQ(json["staleness"]["mean"], 1.5);
  EXPECT_EQ(json["staleness"]["max"], 3);
}

TEST(TrainJson, TellsWhyTheLastCheckpointFailed) {
  Example example;
  example.plan.job.checkpoint.every = 5;
  example.job.checkpoint_failures = 1;
  const auto checkpoint = [&] {
    return nlohmann::json::parse(TrainJson(example.Report())).at("checkpoint");
  };
  EXPECT_FALSE(checkpoint().contains("error"));
  example.job.checkpoint_status = Status::Resource("the disk is full");
  EXPECT_EQ(checkpoint()["error"], "the disk is full");
  EXPECT_FALSE(checkpoint().contains("degraded"));
  example.job.checkpoint_weakness =
      notice::CheckpointDegraded{20, 1, {{"node-01", Status::Resource("full")}}};
  EXPECT_EQ(
      checkpoint()["degraded"],
      "the checkpoint of step 20 is degraded, it survives 1 more loss; left out: node-01 (full)");
}

TEST(TrainJson, WorkersAreRelativeToTheFastest) {
  const Example example;
  const auto workers = nlohmann::json::parse(TrainJson(example.Report()))["workers"];
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[1]["name"], "worker-1");
  EXPECT_DOUBLE_EQ(workers[0]["relative_speed"], 1);
  EXPECT_DOUBLE_EQ(workers[1]["relative_speed"], 0.25);
  EXPECT_DOUBLE_EQ(workers[0]["samples"], 300);
  EXPECT_EQ(workers[1]["held_bytes"], 2000);
  EXPECT_EQ(workers[1]["late"], 1);
  EXPECT_EQ(workers[0]["lost"], false);
  EXPECT_EQ(workers[1]["lost"], true);
}

TEST(TrainJson, AWorkerThatNeverCameIsLost) {
  Example example;
  example.job.scheduler.workers[0].joined = false;
  example.job.scheduler.workers[1].lost = false;
  const auto workers = nlohmann::json::parse(TrainJson(example.Report()))["workers"];
  EXPECT_EQ(workers[0]["lost"], true);
  EXPECT_EQ(workers[1]["lost"], false);
}

TEST(TrainJson, ADepartureIsNoLossAndSeatsOfAServerThatStayedEmptyAreNotThere) {
  Example example;
  example.job.scheduler.workers[1].lost = false;
  example.job.scheduler.workers[1].left = true;
  example.job.scheduler.workers.resize(5);
  const auto workers = [&] {
    return nlohmann::json::parse(TrainJson(example.Report()))["workers"];
  };
  EXPECT_EQ(workers().size(), 5U);
  example.plan.job.gather_time = std::chrono::seconds(1);
  ASSERT_EQ(workers().size(), 2U);
  EXPECT_EQ(workers()[1]["worker"], 1);
  EXPECT_EQ(workers()[1]["left"], true);
  EXPECT_EQ(workers()[1]["lost"], false);
}

// The run's figures cover its own steps; the job's figures include the steps before it.
TEST(TrainJson, AResumedJobCountsItsStepsFromTheJobsBeginning) {
  Example example;
  example.job.first_step = 4;
  example.job.steps = 6;
  example.job.step_seconds = {0.1, 0.3};
  example.job.slowest_step = 5;
  example.job.wall_seconds = 0.5;
  const auto json = nlohmann::json::parse(TrainJson(example.Report()));
  EXPECT_EQ(json["resumed_from"], 4);
  EXPECT_EQ(json["steps"], 6);
  EXPECT_DOUBLE_EQ(json["epochs"], 2);
  EXPECT_EQ(json["step_seconds"]["max_step"], 5);
  EXPECT_DOUBLE_EQ(json["step_seconds"]["max"], 0.3);
}

TEST(TrainJson, LossIsThatOfTheNewestStepsWhereNothingWasEvaluated) {
  Example example;
  example.job.batch_loss = {3, 2};
  TrainReport report = example.Report();
  report.train.reset();
  report.test.reset();
  const auto json = nlohmann::json::parse(TrainJson(report));
  EXPECT_DOUBLE_EQ(json["batch_loss"], 2);
  EXPECT_FALSE(json.contains("final_loss"));
  EXPECT_FALSE(json.contains("test_loss"));
}

// Batches of 100, 100 and 50 samples.
TEST(TrainJson, SharesAreOfTheSamplesOfTheRunsSteps) {
  Example example;
  for (const auto& [first, last, samples] : {std::tuple{0, 1, 100}, {2, 3, 50}, {4, 6, 150}}) {
    example.job.first_step = static_cast<uint64_t>(first);
    example.job.steps = static_cast<uint64_t>(last);
    example.job.scheduler.workers[0].samples = static_cast<uint64_t>(samples);
    const auto json = nlohmann::json::parse(TrainJson(example.Report()));
    EXPECT_DOUBLE_EQ(json["workers"][0]["share"], 1) << first;
    EXPECT_DOUBLE_EQ(json["workers"][0]["samples"], 250) << first;
  }
}

// Batches of 100, 100 and 50 samples; the oldest losses may be gone.
TEST(TrainJson, LastEpochsLossIsTheMeanOverItsSamples) {
  Example example;
  const auto loss = [&] { return nlohmann::json::parse(TrainJson(example.Report())); };
  EXPECT_FALSE(loss().contains("last_epoch_loss"));
  example.job.batch_loss = {100, 50, 10, 4, 3, 2};
  EXPECT_DOUBLE_EQ(loss()["last_epoch_loss"], (4 * 100 + 3 * 100 + 2 * 50) / 250.0);
  example.job.batch_loss = {3, 2};
  example.job.first_loss = 4;
  EXPECT_DOUBLE_EQ(loss()["last_epoch_loss"], (3 * 100 + 2 * 50) / 150.0);
  // The job ended within an epoch: of its last three steps one belongs to the epoch before.
  example.job.steps = 5;
  example.job.first_loss = 0;
  example.job.batch_loss = {100, 50, 10, 4, 3};
  EXPECT_DOUBLE_EQ(loss()["last_epoch_loss"], (10 * 50 + 4 * 100 + 3 * 100) / 250.0);
}

TEST(TrainJson, RegressionHasNoAccuracy) {
  Example example;
  EXPECT_TRUE(nlohmann::json::parse(TrainJson(example.Report())).contains("test_accuracy"));
  TrainReport report = example.Report();
  report.test = Evaluation{.samples = 7, .loss = 0.6, .r2 = 0.75, .rmse = 1.1, .mae = 1};
  const auto json = nlohmann::json::parse(TrainJson(report));
  EXPECT_FALSE(json.contains("test_accuracy"));
  EXPECT_DOUBLE_EQ(json["test_loss"], 0.6);
  EXPECT_EQ(json["test"].dump(), R"({"count":7,"loss":0.6,"mae":1.0,"r2":0.75,"rmse":1.1})");
}

TEST(TrainJson, AllowedSpeedCountsEverySampleOfTheCodeOnce) {
  Example example;
  example.plan.job.tolerate = 1;
  TrainReport report = example.Report();
  report.emulation = PlanEmulation(1e-4, std::vector<double>{1, 1}, 100, 2, FromSeconds(1e-3));
  const auto json = nlohmann::json::parse(TrainJson(report))["emulation"];
  EXPECT_DOUBLE_EQ(json["sample_seconds"], 1e-3);
  EXPECT_DOUBLE_EQ(json["allowed_samples_per_second"], 1000);
}

TEST(Quantile, IsOneOfTheValues) {
  EXPECT_EQ(Quantile({}, 0.5), 0);
  EXPECT_EQ(Quantile({3, 1, 2}, 0), 1);
  EXPECT_EQ(Quantile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(Quantile({3, 1, 2}, 0.99), 3);
  EXPECT_EQ(Quantile({3, 1, 2}, 1), 3);
}

TEST(PlanEmulation, RealComputingUsesHalfOfTheCoresAtMost) {
  const std::vector<double> speeds = {1, 1, 0.5};
  const Emulation emulation = PlanEmulation(1e-3, speeds, 1000000, 2, std::nullopt);
  EXPECT_NEAR(emulation.cores_used, 1, 1e-6);
  EXPECT_FALSE(emulation.overloaded());
  EXPECT_NEAR(emulation.samples_per_second, 2.5 / 2.5e-3, 1e-3);
}

TEST(PlanEmulation, StepLastsFortyMillisecondsAtLeast) {
  const std::vector<double> speeds = {1, 1};
  const Emulation emulation = PlanEmulation(1e-9, speeds, 100, 2, std::nullopt);
  EXPECT_NEAR(100 / emulation.samples_per_second, 0.040, 1e-9);
}

TEST(PlanEmulation, ChosenTimeThatOverloadsIsNoticed) {
  const std::vector<double> speeds = {1, 1};
  const Emulation emulation = PlanEmulation(1e-3, speeds, 100, 2, FromSeconds(1e-3));
  EXPECT_NEAR(emulation.cores_used, 2, 1e-9);
  EXPECT_TRUE(emulation.overloaded());
}

TEST(FaultScript, StrikesEachFaultOnceEvenIfTheStepIsRestarted) {
  std::vector<WorkerId> struck;
  FaultScript script({{.worker = 1, .step = 3}, {.worker = 2, .step = 3}, {.worker = 0, .step = 9}},
                     [&](const Fault& fault) { struck.push_back(fault.worker); });
  for (const StepId step : {2, 3, 3, 4}) {
    script.OnEvent(event::StepOpened{step, CodeForm(), Time()});
  }
  EXPECT_THAT(struck, ElementsAre(1, 2));
}

}  // namespace
}  // namespace motley
