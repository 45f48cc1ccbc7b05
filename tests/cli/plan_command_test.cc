// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands/plan/plan_report.h"
#include "cli/report/compare.h"
#include "nlohmann/json.hpp"
#include "test_paths.h"

namespace motley {
namespace {

using testing::HasSubstr;
using testing::Not;

PlanReport PlanOf(const char* file, double loss) {
  const Result<ClusterProfile> profile =
      LoadClusterProfile(std::string(MOTLEY_SOURCE_DIR "/profiles/") + file);
  EXPECT_TRUE(profile.ok()) << profile.status().ToString();
  PlannedJob job;
  job.loss_probability = loss;
  const PlannedCluster cluster = ClusterOf(*profile, job);
  Result<Ranking> ranking = RankSchemes(cluster, {});
  EXPECT_TRUE(ranking.ok()) << ranking.status().ToString();
  if (!ranking.ok()) return {};
  Result<JobChoice> choice = ChoiceOfJob(*ranking, cluster);
  EXPECT_TRUE(choice.ok()) << choice.status().ToString();
  PlanReport report;
  report.plan.ranking = std::move(*ranking);
  if (choice.ok()) report.choice = std::move(*choice);
  report.cluster = profile->name;
  report.machines = profile->workers.size();
  report.ideal_seconds = 0.05;
  return report;
}

TEST(PlanCommand, SaysWhatToUseAndWhy) {
  const PlanReport plan = PlanOf("lab-mixed.toml", 1e-3);
  const Ranking& ranking = plan.plan.ranking;
  const std::string text = PlanText(plan, false, 1000);
  const std::string fixed = FlagsOf(plan.Fixed().candidate);
  EXPECT_THAT(text, HasSubstr("lab-mixed: " + fixed + " takes "));
  EXPECT_THAT(text, HasSubstr("\n  motley train --remote --workers 2..8 --data FILE --batch 256 " +
                              fixed + "\n"));
  const std::string explained = PlanText(plan, true, 1000);
  EXPECT_THAT(text, Not(HasSubstr("not exact")));
  for (const PlannedScheme& planned : ranking.schemes) {
    const Candidate& candidate = planned.candidate;
    EXPECT_THAT(explained, HasSubstr("\n" + FlagsOf(candidate) + ": " + planned.why));
  }
  EXPECT_THAT(explained, HasSubstr("not exact"));
}

TEST(PlanCommand, FitsIntoATerminal) {
  const PlanReport plan = PlanOf("campus.toml", 1e-3);
  for (const size_t columns : {60, 80, 140}) {
    std::istringstream lines(PlanText(plan, true, columns));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << line;
  }
}

TEST(PlanCommand, TrainsWithAllMachinesOfTheCluster) {
  PlanReport plan = PlanOf("campus.toml", 0);
  EXPECT_THAT(plan.TrainCommand(), HasSubstr(" --workers 2..20 "));
  plan.machines = 1;  // The job does not wait for a second one.
  EXPECT_THAT(plan.TrainCommand(), HasSubstr(" --workers 1..1 "));
  plan.machines = 5000;
  EXPECT_THAT(plan.TrainCommand(), HasSubstr(" --workers 2..1024 "));
}

TEST(PlanCommand, TrainsTheModelThatWasMeasured) {
  const auto command = [](const std::string& model) {
    ClusterProfile profile;
    profile.model = model;
    profile.workers.emplace_back().device.samples_per_second = 1000;
    const auto parallel = MakeThreadParallelFor(1);
    const Result<PlanReport> plan = MakePlanReport(PlanFlags(), profile, *parallel, nullptr);
    EXPECT_TRUE(plan.ok()) << plan.status().ToString();
    return plan.ok() ? plan->TrainCommand() : "";
  };
  EXPECT_THAT(command("mlp:256"), HasSubstr(" --data FILE --model mlp:256 --batch "));
  EXPECT_THAT(command(""), HasSubstr(" --data FILE --batch "));
  EXPECT_THAT(command("our own network"), HasSubstr(" --data FILE --batch "));
}

TEST(PlanCommand, SaysWhyABetterSchemeIsNotChosen) {
  const Ranking ranking = PlanOf("lab-mixed.toml", 1e-3).plan.ranking;
  Ranking other = ranking;
  for (PlannedScheme& planned : other.schemes) {
    if (planned.candidate.scheme != "partial-coded") continue;
    planned.refused.clear();
    planned.exact = true;
    planned.cost.expected = 1e-9;
  }
  const Result<Ranking> best = RankTried(other.schemes, other.partitions);
  ASSERT_TRUE(best.ok());
  PlannedCluster cluster;
  cluster.remaining_steps = 1000;
  cluster.workers.resize(1);
  const Result<JobChoice> chosen = ChoiceOfJob(*best, cluster);
  ASSERT_TRUE(chosen.ok());
  EXPECT_NE(chosen->candidate.scheme, "partial-coded");
  EXPECT_THAT(chosen->why, HasSubstr("is not a scheme that jobs choose"));
}

PlannedScheme& SchemeOf(const Candidate& candidate, PlanReport& plan) {
  for (PlannedScheme& planned : plan.plan.ranking.schemes) {
    if (planned.candidate == candidate) return planned;
  }
  return plan.plan.ranking.schemes.front();
}

// The headline and the JSON name the same row.
TEST(PlanCommand, RecommendsTheDefaultUnlessACodeIsClearlyFaster) {
  PlanReport plan = PlanOf("uniform-8.toml", 0);
  const std::string fixed = FlagsOf(plan.Fixed().candidate);
  const double seconds = plan.Fixed().Total();
  SchemeCost& cost = plan.automatic.emplace().cost;
  for (const double times : {0.5, 1.04, 1.5}) {
    cost.step = cost.expected = times * seconds;
    const bool automatic = times < 1.05;
    const std::string flags = automatic ? "--code auto" : fixed;
    EXPECT_THAT(PlanText(plan, false), HasSubstr("uniform-8: " + flags + " takes ")) << times;
    const auto json = nlohmann::json::parse(PlanJson(plan));
    EXPECT_EQ(json["recommended"]["flags"], flags) << times;
    EXPECT_EQ(json["recommended"]["step_seconds"], automatic ? times * seconds : seconds);
  }
}

// A fixed code whose seeds differ much is not clearly faster.
TEST(PlanCommand, AFixedCodeMustBeFasterThanItsIntervalIsWide) {
  for (const double spread : {0.0, 0.2}) {
    PlanReport plan = PlanOf("uniform-8.toml", 0);
    std::vector<PlannedScheme> only = {plan.Fixed()};
    plan.plan.ranking = *RankTried(only, plan.plan.ranking.partitions);
    const double seconds = plan.Fixed().Total();
    SimulatedScheme seen;
    seen.step_seconds = seconds;
    for (const double part : {-1, 0, 1}) seen.seed_means.push_back(seconds * (1 + spread * part));
    plan.plan.seen.emplace_back(plan.Fixed().candidate, seen);
    SchemeCost& cost = plan.automatic.emplace().cost;
    cost.step = cost.expected = 1.2 * seconds;
    EXPECT_EQ(plan.RecommendsAuto(), spread > 0);
  }
}

// A job's own choice insures against stragglers that were never seen, so it may be slower.
TEST(PlanCommand, RecommendsTheFastestRowAlsoIfFewWorkersCompute) {
  PlanReport plan = PlanOf("uniform-8.toml", 0);
  const double fastest = 0.5 * plan.Fixed().Total();
  plan.choice.candidate = {"adaptive", 3};
  SchemeOf(plan.choice.candidate, plan).cost.expected = 1.06 * fastest;
  plan.plan.ranking.schemes.push_back(SchemeOf({"repetition", 2}, plan));
  plan.plan.ranking.schemes.back().candidate.workers = 4;
  plan.plan.ranking.schemes.back().cost.expected = fastest;
  Result<Ranking> ranking = RankTried(plan.plan.ranking.schemes, plan.plan.ranking.partitions);
  ASSERT_TRUE(ranking.ok());
  plan.plan.ranking = *std::move(ranking);
  SchemeCost& cost = plan.automatic.emplace().cost;
  cost.step = cost.expected = 1.07 * fastest;
  plan.flags.cluster = "my cluster's.toml";
  const std::string flags = "--code repetition --tolerate 1 --fastest 4";
  const std::string text = PlanText(plan, false, 1000);
  EXPECT_THAT(text, HasSubstr("uniform-8: " + flags + " takes "));
  EXPECT_THAT(text, HasSubstr("Here auto takes "));
  EXPECT_THAT(text, HasSubstr("\n  motley simulate --cluster 'my cluster'\\''s.toml' --batch 256 "
                              "--steps 140 --seeds 5 " +
                              flags + "\n"));
}

TEST(PlanCommand, SaysWhyASchemeWasNotSimulated) {
  PlanReport plan = PlanOf("uniform-8.toml", 0);
  plan.plan.seen.emplace_back(Candidate{"none", 1}, SimulatedScheme());
  plan.plan.unseen.emplace_back(Candidate{"adaptive", 1}, "a checker found something");
  plan.plan.unseen.emplace_back(Candidate{"adaptive", 2}, "a checker found something");
  plan.no_automatic = "a worker is missing";
  const std::string text = PlanText(plan, true, 1000);
  EXPECT_THAT(text, HasSubstr("* by the step model alone: --code adaptive --tolerate 0; --code "
                              "adaptive --tolerate 1: a checker found something\n"));
  EXPECT_THAT(text, HasSubstr("auto was not simulated: a worker is missing\n"));
}

ClusterProfile TwoWorkers() {
  ClusterProfile cluster;
  cluster.gradient_bytes = 4000;
  for (int i = 0; i < 2; ++i) {
    WorkerProfile worker;
    worker.device.samples_per_second = 1000;
    worker.device.jitter = 0.05;
    worker.link = {.latency_seconds = 1e-4, .bytes_per_second = 1e8};
    cluster.workers.push_back(worker);
  }
  return cluster;
}

Result<PlanReport> PlanOfTwo(double loss_rate, std::vector<size_t>* done = nullptr) {
  PlanFlags flags;
  flags.copies = 1;
  flags.loss_rate = loss_rate;
  const auto parallel = MakeThreadParallelFor(2);
  return MakePlanReport(flags, TwoWorkers(), *parallel, [&](size_t now, size_t all) {
    if (done == nullptr) return;
    EXPECT_LE(now, all);
    done->push_back(now);
  });
}

TEST(PlanCommand, LossesCostTheDefaultWhatTheyCostOthers) {
  const Result<PlanReport> calm = PlanOfTwo(0), lossy = PlanOfTwo(0.01);
  ASSERT_TRUE(calm.ok() && lossy.ok());
  EXPECT_THAT(PlanText(*calm, false), Not(HasSubstr("one lost")));
  EXPECT_THAT(PlanText(*lossy, false), HasSubstr("one lost"));
  const SchemeCost &without = calm->automatic->cost, &with = lossy->automatic->cost;
  EXPECT_DOUBLE_EQ(with.step, without.step);
  EXPECT_GT(with.loss, 1.3 * with.step);
  // Two workers, each lost in a step of a hundred.
  EXPECT_NEAR(with.expected, with.step + 0.0199 * (with.loss - with.step), 1e-9);
  const auto json = nlohmann::json::parse(PlanJson(*lossy));
  EXPECT_EQ(json["auto"]["step_seconds"], with.expected);
  EXPECT_EQ(json["auto"]["one_lost_seconds"], with.loss);
}

// The table, the JSON and the reasons all have the simulated work.
TEST(PlanCommand, EveryFigureIsTheSimulatedOne) {
  std::vector<size_t> done;
  const Result<PlanReport> plan = PlanOfTwo(0, &done);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_TRUE(plan->plan.unseen.empty());
  ASSERT_FALSE(plan->plan.seen.empty());
  for (const auto& [candidate, seen] : plan->plan.seen) {
    const SchemeCost& cost = Foreseen(candidate, plan->plan.ranking)->cost;
    EXPECT_EQ(cost.work, seen.work) << ShortNameOf(candidate);
    EXPECT_DOUBLE_EQ(cost.expected, seen.step_seconds) << ShortNameOf(candidate);
    EXPECT_EQ(seen.seed_means.size(), kComparedSeeds);
  }
  // Reports for all rows and auto, one after the other.
  ASSERT_EQ(done.size(), plan->plan.seen.size() + 2);
  for (size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], i);
}

TEST(PlanCommand, JsonHasTheChoiceAndEveryScheme) {
  const PlanReport plan = PlanOf("campus.toml", 0);
  const Ranking& ranking = plan.plan.ranking;
  const JobChoice& choice = plan.choice;
  const auto json = nlohmann::json::parse(PlanJson(plan));
  EXPECT_EQ(json["cluster"], "campus");
  EXPECT_EQ(json["ideal_seconds"], plan.ideal_seconds);
  EXPECT_EQ(json["choice"]["scheme"], choice.candidate.scheme);
  EXPECT_EQ(json["choice"]["why"], choice.why);
  ASSERT_EQ(json["schemes"].size(), ranking.schemes.size());
  EXPECT_EQ(json["schemes"][0]["scheme"], ranking.schemes.front().candidate.scheme);
  EXPECT_EQ(json["schemes"][0]["step_seconds"], ranking.schemes.front().Total());
  for (size_t i = 0; i < ranking.schemes.size(); ++i) {
    const Candidate& candidate = ranking.schemes[i].candidate;
    const bool typed = ranking.schemes[i].refused.empty();
    EXPECT_EQ(json["schemes"][i].value("flags", ""), typed ? FlagsOf(candidate) : "");
  }
}

// Each of the sample clusters can be planned.
TEST(PlanCommand, ServesEverySampleCluster) {
  for (const char* file : {"campus.toml", "edge.toml", "generations-64.toml", "gpu-and-cpus.toml",
                           "lab-mixed.toml", "uniform-8.toml"}) {
    const Ranking ranking = PlanOf(file, 1e-5).plan.ranking;
    ASSERT_FALSE(ranking.schemes.empty()) << file;
    EXPECT_TRUE(ranking.schemes.front().exact) << file;
    EXPECT_GT(ranking.schemes.front().cost.expected, 0) << file;
  }
}

}  // namespace
}  // namespace motley
