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

Ranking PlanOf(const char* file, double loss) {
  const Result<ClusterProfile> profile =
      LoadClusterProfile(std::string(MOTLEY_SOURCE_DIR "/profiles/") + file);
  EXPECT_TRUE(profile.ok()) << profile.status().ToString();
  PlannedJob job;
  job.loss_probability = loss;
  Result<Ranking> ranking = RankSchemes(ClusterOf(*profile, job), {});
  EXPECT_TRUE(ranking.ok()) << ranking.status().ToString();
  return ranking.ok() ? std::move(*ranking) : Ranking();
}

TEST(PlanCommand, SaysWhatToUseAndWhy) {
  const Ranking ranking = PlanOf("lab-mixed.toml", 1e-3);
  const std::string text = PlanText(ranking, "lab-mixed", false);
  EXPECT_THAT(text, HasSubstr("lab-mixed: " + ranking.schemes.front().candidate.scheme));
  EXPECT_THAT(text, HasSubstr(ranking.schemes.front().why));
  EXPECT_THAT(text, Not(HasSubstr("not exact")));
  const std::string explained = PlanText(ranking, "lab-mixed", true);
  for (const PlannedScheme& planned : ranking.schemes) {
    EXPECT_THAT(explained, HasSubstr(planned.why)) << planned.candidate.scheme;
  }
  EXPECT_THAT(explained, HasSubstr("not exact"));
}

TEST(PlanCommand, JsonHasEveryScheme) {
  const Ranking ranking = PlanOf("campus.toml", 0);
  const auto json = nlohmann::json::parse(PlanJson(ranking, "campus"));
  ASSERT_EQ(json["schemes"].size(), ranking.schemes.size());
  EXPECT_EQ(json["schemes"][0]["scheme"], ranking.schemes.front().candidate.scheme);
  EXPECT_EQ(json["schemes"][0]["step_seconds"], ranking.schemes.front().Total());
}

// Each of the sample clusters can be planned.
TEST(PlanCommand, ServesEverySampleCluster) {
  for (const char* file : {"campus.toml", "edge.toml", "generations-64.toml", "gpu-and-cpus.toml",
                           "lab-mixed.toml", "uniform-8.toml"}) {
    const Ranking ranking = PlanOf(file, 1e-5);
    ASSERT_FALSE(ranking.schemes.empty()) << file;
    EXPECT_TRUE(ranking.schemes.front().exact) << file;
    EXPECT_GT(ranking.schemes.front().cost.expected, 0) << file;
  }
}

}  // namespace
}  // namespace motley
