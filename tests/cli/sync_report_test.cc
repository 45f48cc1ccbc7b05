// SPDX-License-Identifier: Apache-2.0
#include "cli/report/sync_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "nlohmann/json.hpp"

namespace motley {
namespace {

using testing::HasSubstr;

// Two modes on two clusters. On the second one, ssp:2 misses the target with one of its seeds.
SyncComparison FourTrials() {
  SyncComparison comparison;
  comparison.job = "a <job>";
  comparison.target = {true, 0.9};
  const LearningCurve slow{{2, 0.9, 0.5}, {4, 0.5, 0.92}, {6, 0.4, 0.95}};
  const LearningCurve fast{{1, 0.8, 0.6}, {2, 0.5, 0.91}, {3, 0.45, 0.93}};
  const LearningCurve faster{{1, 0.6, 0.9}, {3, 0.35, 0.97}};
  const LearningCurve never{{1, 0.9, 0.5}, {2, 0.8, 0.6}};
  comparison.trials = {{"bsp", "even", 4, 0.1, {slow, slow}},
                       {"ssp:2", "even", 4, 0.05, {fast, faster}},
                       {"bsp", "uneven", 2, 0.1, {slow, slow}},
                       {"ssp:2", "uneven", 2, 0.1, {fast, never}}};
  return comparison;
}

TEST(SyncReport, TheFirstVersionThatReachesTheTargetCounts) {
  const LearningCurve curve{{1, 0.9, 0.5}, {2, 0.2, 0.95}, {3, 0.3, 0.8}};
  EXPECT_EQ((SyncTarget{true, 0.9}.SecondsOf(curve)), 2);
  EXPECT_EQ((SyncTarget{false, 0.9}.SecondsOf(curve)), 1);
  EXPECT_EQ((SyncTarget{true, 0.96}.SecondsOf(curve)), std::nullopt);
  EXPECT_EQ((SyncTarget{true, 0.1}.SecondsOf({{1, 0.5, std::nullopt}})), std::nullopt);
}

TEST(SyncReport, ATrialIsBetterIfMoreSeedsReachTheTargetAndThenIfTheyDoSoEarlier) {
  const SyncTarget target{true, 0.9};
  const SyncComparison all = FourTrials();
  EXPECT_TRUE(all.trials[1].BetterThan(all.trials[0], target));
  EXPECT_FALSE(all.trials[0].BetterThan(all.trials[1], target));
  EXPECT_TRUE(all.trials[2].BetterThan(all.trials[3], target));
  const SyncTarget nobodys{true, 0.99};
  EXPECT_TRUE(all.trials[1].BetterThan(all.trials[3], nobodys));
  SyncTrial diverged = all.trials[3];
  diverged.seeds = {{{1, std::numeric_limits<double>::quiet_NaN(), 0.0}}};
  EXPECT_TRUE(all.trials[3].BetterThan(diverged, nobodys));
  EXPECT_FALSE(diverged.BetterThan(all.trials[3], nobodys));
}

TEST(SyncReport, ADivergedRunReachesNothing) {
  const double infinity = std::numeric_limits<double>::infinity();
  const LearningCurve diverged{{1, 0.2, 0.95}, {2, infinity, 0.0}};
  const LearningCurve without_classes{{1, 0.2, std::nullopt}, {2, infinity, std::nullopt}};
  EXPECT_EQ((SyncTarget{true, 0.9}.SecondsOf(diverged)), std::nullopt);
  EXPECT_EQ((SyncTarget{true, 0}.SecondsOf(diverged)), std::nullopt);
  EXPECT_EQ((SyncTarget{false, infinity}.SecondsOf(without_classes)), std::nullopt);
  SyncComparison comparison = FourTrials();
  comparison.trials[3].seeds = {without_classes};
  const auto json = nlohmann::json::parse(SyncJson(comparison));
  EXPECT_EQ(json[3]["seeds_that_reach_it"], 0);
  for (const char* none : {"seconds_to_target_mean", "final_accuracy", "final_loss"}) {
    EXPECT_TRUE(json[3][none].is_null()) << none;
  }
  EXPECT_TRUE(json[3]["by_seed"][0]["final_loss"].is_null());
}

TEST(SyncReport, TheDefaultTargetFollowsTheBestTrialOfTheFirstMode) {
  SyncComparison all = FourTrials();
  EXPECT_NEAR(DefaultTarget(all.trials, true)->value, 0.99 * 0.95, 1e-12);
  EXPECT_NEAR(DefaultTarget(all.trials, false)->value, 1.05 * 0.4, 1e-12);
  const LearningCurve diverged{{1, std::numeric_limits<double>::infinity(), 0.0}};
  all.trials[0].seeds = {diverged};  // The mode has a result on the other cluster.
  EXPECT_TRUE(DefaultTarget(all.trials, true).ok());
  all.trials[2].seeds = {diverged};
  const Status refused = DefaultTarget(all.trials, true).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.ToString(), HasSubstr("bsp diverges with every rate"));
  EXPECT_THAT(refused.ToString(), HasSubstr("--target-accuracy"));
  EXPECT_THAT(DefaultTarget(all.trials, false).status().ToString(), HasSubstr("--target-loss"));
}

TEST(SyncReport, TheDeviationIsThatOfASample) {
  EXPECT_NEAR(Deviation({1, 3}), 1.41421356, 1e-8);
  EXPECT_EQ(Deviation({1}), 0);
}

TEST(SyncReport, TheTableHoldsEachModeAgainstTheFirstOnTheSameCluster) {
  const std::string table = SyncTable(FourTrials());
  EXPECT_THAT(table, HasSubstr("even, 4 workers"));
  EXPECT_THAT(table, HasSubstr("uneven, 2 workers"));
  EXPECT_THAT(table, HasSubstr("1.50 +- 0.71  2.67"));  // 4 s against 2 s and 1 s.
  EXPECT_THAT(table, HasSubstr("2.00 (1 of 2)"));
  EXPECT_THAT(table, HasSubstr("target: accuracy 0.9; 2 seeds"));
  EXPECT_TRUE(table.ends_with("\n"));
}

TEST(SyncReport, TheJsonHasTheTimesOfAllModes) {
  const auto json = nlohmann::json::parse(SyncJson(FourTrials()));
  ASSERT_EQ(json.size(), 4u);
  EXPECT_EQ(json[1]["sync"], "ssp:2");
  EXPECT_EQ(json[1]["cluster"], "even");
  EXPECT_EQ(json[1]["workers"], 4);
  EXPECT_EQ(json[1]["seconds_to_target_mean"], 1.5);
  EXPECT_NEAR(json[1]["seconds_to_target_stddev"].get<double>(), 0.70710678, 1e-8);
  EXPECT_NEAR(json[1]["final_accuracy"].get<double>(), 0.95, 1e-12);
  EXPECT_EQ(json[3]["seeds_that_reach_it"], 1);
  EXPECT_EQ(json[3]["by_seed"][0]["seconds_to_target"], 2);
  EXPECT_TRUE(json[3]["by_seed"][1]["seconds_to_target"].is_null());
  EXPECT_EQ(json[3]["by_seed"][1]["final_accuracy"], 0.6);
  EXPECT_TRUE(json[3]["seconds_to_target_stddev"].is_null());
  EXPECT_FALSE(json[3]["by_seed"][0].contains("samples"));
  SyncComparison counted = FourTrials();
  counted.trials[3].work = {{5, 320}, {6, 300}};
  const auto with = nlohmann::json::parse(SyncJson(counted));
  EXPECT_EQ(with[3]["by_seed"][1]["seconds"], 6);
  EXPECT_EQ(with[3]["by_seed"][1]["samples"], 300);
}

TEST(SyncReport, ThePictureHasAPanelForEachClusterAndACurveForEachMode) {
  const std::string svg = SyncSvg(FourTrials());
  EXPECT_THAT(svg, HasSubstr("a &lt;job>: seconds to accuracy 0.9"));
  size_t curves = 0;
  for (size_t at = svg.find("<polyline"); at != svg.npos; at = svg.find("<polyline", at + 1)) {
    ++curves;
  }
  EXPECT_EQ(curves, 4u);
  EXPECT_THAT(svg, HasSubstr("ssp:2: 2 s"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace motley
