// SPDX-License-Identifier: Apache-2.0
// What `motley plan` says about the place, the format and the memory of the vector.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "api/reports/event_stream.h"
#include "cli/commands/plan/plan_report.h"
#include "cli/commands/simulation.h"
#include "coding/schemes.h"
#include "nlohmann/json.hpp"
#include "runtime/memory_need.h"

namespace motley {
namespace {

using testing::HasSubstr;
using testing::Not;

ClusterProfile Thin() {
  ClusterProfile profile;
  profile.name = "thin";
  profile.gradient_bytes = 4'000'000;
  for (int w = 0; w < 4; ++w) {
    WorkerProfile worker;
    worker.device.name = "node-" + std::to_string(w);
    worker.device.samples_per_second = 1000;
    worker.link.bytes_per_second = 125e6;
    profile.workers.push_back(worker);
  }
  return profile;
}

PlanFlags FlagsFor(const std::string& reduce) {
  PlanFlags flags;
  flags.cluster = "thin.toml";
  flags.copies = 1;
  flags.reduce = reduce;
  return flags;
}

Result<PlanReport> Report(const PlanFlags& flags, const ClusterProfile& profile) {
  const auto parallel = MakeThreadParallelFor(1);
  return MakePlanReport(flags, profile, *parallel, nullptr);
}

Result<PlanReport> Report(const std::string& reduce, const ClusterProfile& profile,
                          const std::string& wire = "float32") {
  PlanFlags flags = FlagsFor(reduce);
  flags.wire = wire;
  return Report(flags, profile);
}

TEST(PlanCommandVector, RecommendsThatWorkersSumTheVectorBehindThinLinks) {
  const Result<PlanReport> plan = Report("star", Thin());
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_TRUE(plan->RecommendsDirect());
  EXPECT_THAT(PlanText(*plan, false, 1000), HasSubstr("\nrecommended: --reduce direct. "));
  const auto json = nlohmann::json::parse(PlanJson(*plan));
  EXPECT_EQ(json["reduce"]["placement"], "star");
  EXPECT_EQ(json["reduce"]["recommended"], "direct");
  ClusterProfile wide = Thin();
  for (WorkerProfile& worker : wide.workers) worker.link.bytes_per_second = 0;
  const Result<PlanReport> star = Report("star", wide);
  ASSERT_TRUE(star.ok());
  EXPECT_FALSE(star->RecommendsDirect());
  EXPECT_EQ(nlohmann::json::parse(PlanJson(*star))["reduce"]["recommended"], "star");
}

// The choice of a simulated job with --reduce auto, which measures its links.
std::string SimulatedChoice(const ClusterProfile& profile, uint32_t followers) {
  SimulateFlags flags;
  flags.job.options.batch = PlanFlags().batch;
  flags.job.options.steps = 2;
  flags.job.options.followers = followers;
  flags.job.options.given |= MOTLEY_GIVEN_FOLLOWERS;
  flags.job.reduce = "auto";
  flags.job.quiet = true;
  const Result<Simulation> sim = PrepareSimulation(flags, profile);
  EXPECT_TRUE(sim.ok()) << sim.status().ToString();
  EventStream events(nullptr, nullptr);
  EXPECT_TRUE(Simulate(sim->options, sim->data, &events).ok());
  return nlohmann::json::parse(events.reduction())["by"];
}

// The figures, the recommendation and the commands are all for what a job would choose.
TEST(PlanCommandVector, ChoosesWhoSumsTheVectorAsJobsDo) {
  ClusterProfile shorter = Thin(), wide = Thin();
  shorter.gradient_bytes = 1'000'000;
  wide.server = ServerRates();
  ClusterProfile distant = wide;
  for (WorkerProfile& worker : distant.workers) worker.link.latency_seconds = 0.05;
  struct Case {
    ClusterProfile profile;
    uint32_t followers;
    const char *reduce, *reason;
  };
  for (const Case& each :
       {Case{Thin(), 1, "direct", "faster"}, Case{distant, 1, "direct", "faster"},
        Case{wide, 3, "star", "no gain"}, Case{shorter, 1, "star", "short"}}) {
    SCOPED_TRACE(each.reason);
    EXPECT_EQ(SimulatedChoice(each.profile, each.followers), each.reduce);
    PlanFlags flags = FlagsFor("auto");
    flags.followers = each.followers;
    const Result<PlanReport> plan = Report(flags, each.profile);
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    flags.reduce = each.reduce;
    if (!plan->PlacesDirect()) flags.followers.reset();
    const Result<PlanReport> asked = Report(flags, each.profile);
    ASSERT_TRUE(asked.ok()) << asked.status().ToString();
    EXPECT_EQ(plan->RecommendedSeconds(), asked->RecommendedSeconds());
    const std::string typed = std::string(" --reduce ") + each.reduce;
    EXPECT_THAT(plan->TrainCommand(), HasSubstr(typed));
    EXPECT_THAT(plan->SimulateCommand(), HasSubstr(typed));
    const auto json = nlohmann::json::parse(PlanJson(*plan))["reduce"];
    EXPECT_EQ(json["placement"], each.reduce);
    EXPECT_EQ(json["recommended"], each.reduce);
    EXPECT_EQ(json["reason"], each.reason);
    const std::string text = PlanText(*plan, false, 1000);
    EXPECT_THAT(text, Not(HasSubstr("recommended: --reduce")));
    const bool is_short = each.reason == std::string("short");
    EXPECT_EQ(text.find("less than 1 MiB at the server") != text.npos, is_short);
  }
}

TEST(PlanCommandVector, TrainsWithTheRecommendedPlaceAndSimulatesItsFigures) {
  Result<PlanReport> plan = Report(PlanFlags().reduce, Thin());
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  plan->automatic->cost.expected *= 2;  // A fixed code is clearly faster, with a star.
  const std::string code = FlagsOf(plan->Fixed().candidate);
  EXPECT_THAT(plan->TrainCommand(), HasSubstr(" --code auto --reduce direct"));
  EXPECT_THAT(plan->SimulateCommand(), HasSubstr(code + " --reduce star"));
  const std::string text = PlanText(*plan, false, 1000);
  EXPECT_THAT(text, HasSubstr(code + " --reduce star takes "));
  EXPECT_THAT(text, HasSubstr("the simulation are for --reduce star; "));
  const auto json = nlohmann::json::parse(PlanJson(*plan));
  const std::string place = json["reduce"]["recommended"];
  EXPECT_THAT(json["recommended"]["train"], HasSubstr(" --reduce " + place));
  ClusterProfile unknown = Thin();
  unknown.gradient_bytes = 0;
  EXPECT_THAT(Report(PlanFlags().reduce, unknown)->TrainCommand(), Not(HasSubstr("--reduce")));
}

TEST(PlanCommandVector, OneWorkerHasNobodyToShareTheVectorWith) {
  ClusterProfile alone = Thin();
  alone.workers.resize(1);
  const Result<PlanReport> plan = Report(PlanFlags().reduce, alone);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_FALSE(plan->RecommendsDirect());
  EXPECT_THAT(plan->TrainCommand(), HasSubstr(" --reduce star"));
  EXPECT_THAT(PlanText(*plan, false, 1000), Not(HasSubstr("If the workers sum the vector")));
  EXPECT_THAT(PlanJson(*plan), Not(HasSubstr("direct_step_seconds")));
}

TEST(PlanCommandVector, NamesAllServersOfAShortVector) {
  ClusterProfile cluster = Thin();
  cluster.gradient_bytes = 10000;  // One range.
  const Result<PlanReport> plan = Report("sharded:4", cluster);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_THAT(PlanText(*plan, false, 1000), HasSubstr("--reduce sharded:4: "));
  EXPECT_THAT(PlanJson(*plan), HasSubstr("\"placement\": \"sharded:4\""));
}

TEST(PlanCommandVector, PredictsStepsWhoseVectorOthersSum) {
  const Result<PlanReport> star = Report("star", Thin());
  for (const char* reduce : {"direct", "auto", "sharded:4"}) {
    const Result<PlanReport> plan = Report(reduce, Thin());
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    const bool direct = plan->PlacesDirect();
    EXPECT_EQ(plan->Runs(), direct);
    EXPECT_EQ(plan->plan.seen.empty(), !direct);
    EXPECT_LT(plan->Fixed().Total(), star->Fixed().Total());
    EXPECT_GE(plan->Fixed().Total(), plan->ideal_seconds);
    const std::string text = PlanText(*plan, true, 1000);
    const std::string command = "motley train --remote --workers 2..4 --data FILE --batch 256 ";
    if (direct) {
      EXPECT_THAT(text, HasSubstr(command + plan->RecommendedFlags() + " --reduce direct\n"));
    } else {
      EXPECT_THAT(text, HasSubstr("motley simulate shows their steps"));
      EXPECT_THAT(text, Not(HasSubstr("motley train --remote")));
      EXPECT_THAT(text, HasSubstr("motley simulate does. --code auto has no row without"));
    }
    EXPECT_THAT(text, HasSubstr("\nshares: "));
    const auto json = nlohmann::json::parse(PlanJson(*plan));
    EXPECT_EQ(json["recommended"].contains("train"), direct);
    if (direct) {
      EXPECT_EQ(json["reduce"]["recommended"], "direct");
    }
    ASSERT_EQ(json["reduce"]["shares"].size(), 4);
    EXPECT_NEAR(json["reduce"]["shares"][3]["share"].get<double>(), 0.25, 1e-6);
    EXPECT_GT(json["reduce"]["star"]["exchange_seconds"].get<double>(),
              json["reduce"]["exchange_seconds"].get<double>());
  }
}

TEST(PlanCommandVector, CountsFollowers) {
  std::vector<double> seconds;
  for (const uint32_t followers : {0U, 1U, 3U}) {
    PlanFlags flags = FlagsFor("direct");
    flags.followers = followers;
    const Result<PlanReport> plan = Report(flags, Thin());
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    seconds.push_back(plan->Fixed().Total());
    const std::string repeated = " --reduce direct --followers " + std::to_string(followers);
    for (const std::string& command : {plan->TrainCommand(), plan->SimulateCommand()}) {
      EXPECT_THAT(command, HasSubstr(repeated));
    }
  }
  // A quarter of the vector takes its owner 8 ms.
  EXPECT_NEAR(seconds[1] - seconds[0], 0.008, 0.001);
  EXPECT_NEAR(seconds[2] - seconds[1], 0.016, 0.002);
  PlanFlags star = FlagsFor("star");
  star.followers = 1;
  EXPECT_THAT(Report(star, Thin()).status().ToString(), HasSubstr("--followers 1: the server"));
}

TEST(PlanCommandVector, CountsVectorsAsTheyTravel) {
  for (const char* reduce : {"star", "direct"}) {
    const Result<PlanReport> usual = Report(reduce, Thin());
    const Result<PlanReport> half = Report(reduce, Thin(), "bf16");
    const Result<PlanReport> quarter = Report(reduce, Thin(), "int8");
    ASSERT_TRUE(usual.ok() && half.ok() && quarter.ok());
    EXPECT_LT(half->Fixed().Total(), usual->Fixed().Total()) << reduce;
    EXPECT_LT(quarter->Fixed().Total(), half->Fixed().Total()) << reduce;
    EXPECT_LT(half->ideal_seconds, usual->ideal_seconds);
    EXPECT_LT(quarter->ideal_seconds, half->ideal_seconds);
    EXPECT_THAT(quarter->TrainCommand(), HasSubstr(" --wire int8"));
    EXPECT_THAT(quarter->SimulateCommand(), HasSubstr(" --wire int8"));
  }
  EXPECT_THAT(Report("star", Thin(), "float99").status().ToString(), HasSubstr("--wire"));
}

// The memory of the job that the printed command to train starts.
UsualMemory MemoryOf(const PlanReport& plan, const PlanFlags& flags, uint64_t parameters) {
  SimulateFlags typed;
  typed.job.options.batch = flags.batch;
  typed.job.options.steps = 1;
  typed.job.reduce = plan.RecommendsDirect() ? "direct" : flags.reduce;
  typed.job.optimizer = flags.optimizer;
  typed.job.wire = flags.wire;
  if (flags.followers) {
    typed.job.options.followers = *flags.followers;
    typed.job.options.given |= MOTLEY_GIVEN_FOLLOWERS;
  }
  typed.job.code = "auto";
  if (!plan.TrainsWithAuto()) {
    const SimulatedJobCode code = SimulatedCodeOf(plan.Fixed().candidate);
    typed.job.code = code.code;
    typed.job.options.tolerate = code.tolerate;
    typed.job.tolerate_given = !SchemeNamed(code.code).chosen_later();
    typed.job.options.parts = SchemeNamed(code.code).has_parts ? code.parts : 0;
  }
  const Result<Simulation> sim = PrepareSimulation(typed, Thin());
  EXPECT_TRUE(sim.ok()) << sim.status().ToString();
  const JobOptions& job = sim->options.job;
  return UsualMemoryOf(job, parameters, job.holders != JobOptions::Holders::kServer);
}

TEST(PlanCommandVector, SaysHowMuchMemoryThePlannedJobNeeds) {
  constexpr uint64_t kParameters = 25'000'000;
  ClusterProfile profile = Thin();
  profile.gradient_bytes = kParameters * sizeof(float);
  const auto flags = [](const char* reduce, const char* optimizer, const char* wire,
                        std::optional<uint32_t> followers) {
    PlanFlags plan = FlagsFor(reduce);
    plan.optimizer = optimizer;
    plan.wire = wire;
    plan.followers = followers;
    return plan;
  };
  for (const PlanFlags& each :
       {flags("star", "sgd", "float32", {}), flags("star", "adam", "bf16", {}),
        flags("direct", "momentum", "float32", 2), flags("sharded:2", "sgd", "int8", {})}) {
    SCOPED_TRACE(each.reduce + " " + each.optimizer + " " + each.wire);
    const Result<PlanReport> plan = Report(each, profile);
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    // The table of `star` is not about the job that is recommended.
    EXPECT_EQ(plan->RecommendsDirect(), each.reduce != "sharded:2");
    const UsualMemory usual = MemoryOf(*plan, each, kParameters);
    const auto json = nlohmann::json::parse(PlanJson(*plan))["memory"];
    EXPECT_EQ(json["optimizer"], each.optimizer);
    EXPECT_EQ(json["server_bytes"], usual.server);
    EXPECT_EQ(json["worker_bytes"], usual.worker);
    EXPECT_EQ(json["part_bytes"], usual.part);
    const std::string direct = plan->RecommendsDirect() ? ", --reduce direct" : "";
    EXPECT_THAT(
        PlanText(*plan, false, 1000),
        HasSubstr("\nwith " + plan->TrainedFlags() + direct + " and --optimizer " + each.optimizer +
                  " a job " + DescribeMemory(*plan->job, kParameters) + "\n"));
  }
  // Short vectors need no words.
  EXPECT_THAT(PlanText(*Report("star", Thin()), false, 1000), Not(HasSubstr(" a job needs ")));
}

TEST(PlanCommandVector, RefusesToPlaceAVectorThatItDoesNotKnow) {
  EXPECT_THAT(Report("ring", Thin()).status().ToString(), HasSubstr("waits for every worker"));
  EXPECT_THAT(Report("rung", Thin()).status().ToString(), HasSubstr("--reduce: 'rung'"));
  ClusterProfile unknown = Thin();
  unknown.gradient_bytes = 0;
  EXPECT_THAT(Report("direct", unknown).status().message(), HasSubstr("gradient_bytes"));
  EXPECT_TRUE(Report("auto", unknown).ok());
}

}  // namespace
}  // namespace motley
