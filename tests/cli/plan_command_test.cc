// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  report.ideal_seconds = 0.05;
  return report;
}

TEST(PlanCommand, SaysWhatToUseAndWhy) {
  const PlanReport plan = PlanOf("lab-mixed.toml", 1e-3);
  const Ranking& ranking = plan.plan.ranking;
  const JobChoice& choice = plan.choice;
  const std::string text = PlanText(plan, false);
  EXPECT_THAT(text, HasSubstr("lab-mixed: " + choice.candidate.scheme));
  EXPECT_THAT(text, HasSubstr(choice.why));
  EXPECT_THAT(text, Not(HasSubstr("not exact")));
  const std::string explained = PlanText(plan, true);
  for (const PlannedScheme& planned : ranking.schemes) {
    EXPECT_THAT(explained, HasSubstr(planned.why)) << planned.candidate.scheme;
  }
  EXPECT_THAT(explained, HasSubstr("not exact"));
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
  EXPECT_THAT(chosen->why, HasSubstr("is no scheme that jobs choose"));
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
