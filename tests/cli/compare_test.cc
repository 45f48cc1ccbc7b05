// SPDX-License-Identifier: Apache-2.0
#include "cli/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/report/svg.h"
#include "nlohmann/json.hpp"

namespace motley {
namespace {

using testing::HasSubstr;
using testing::Not;

Comparison TwoCodes() {
  Comparison comparison;
  comparison.cluster = "a <lab>";
  comparison.steps = 2;
  comparison.ideal_seconds = 0.05;
  // Means of 0.1 and 0.3 s: 0.2 s, give or take 12.706 x 0.1414 / sqrt(2) s.
  comparison.runs.push_back({"none", "none", 0, {0.1, 0.1, 0.3, 0.3}, {0.1, 0.3}, 0});
  comparison.runs.push_back(
      {"adaptive", "adaptive", 1, {0.1, 0.1, 0.1, 0.1}, {0.1, 0.1}, 3, 0, "a note\n"});
  return comparison;
}

TEST(Compare, ReadsCodesWithTheirTolerance) {
  const auto codes = ParseCompared("none,repetition:2,repetition:1,adaptive");
  ASSERT_TRUE(codes.ok()) << codes.status().ToString();
  ASSERT_EQ(codes->size(), 4u);
  EXPECT_EQ((*codes)[0].tolerate, std::nullopt);
  EXPECT_EQ((*codes)[1].code, "repetition");
  EXPECT_EQ((*codes)[1].tolerate, 2u);
}

TEST(Compare, RefusesWhatCannotBeComparedAndSaysWhatToType) {
  EXPECT_THAT(ParseCompared("adaptive").status().message(), HasSubstr("none,adaptive"));
  EXPECT_THAT(ParseCompared("none,adaptive,none").status().message(),
              HasSubstr("none is given twice"));
  EXPECT_THAT(ParseCompared("none,,adaptive").status().message(), HasSubstr("a code is missing"));
  EXPECT_THAT(ParseCompared("none,repetition:x").status().message(), HasSubstr("repetition:2"));
  EXPECT_THAT(ParseCompared("adaptive,none:1").status().message(),
              HasSubstr("none keeps no copies, so it tolerates no missing worker. Write none"));
  EXPECT_TRUE(ParseCompared("adaptive,none:0").ok());
  EXPECT_FALSE(ParseCompared("").ok());
}

TEST(Compare, TheIntervalFollowsFromHowTheSeedsDiffer) {
  const Comparison comparison = TwoCodes();
  const auto interval = MeanInterval(comparison.runs[0].seed_means);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, 0.2 - 12.706 * 0.1, 1e-9);
  EXPECT_NEAR(interval->high, 0.2 + 12.706 * 0.1, 1e-9);
  EXPECT_NEAR(MeanInterval(comparison.runs[1].seed_means)->low, 0.1, 1e-12);
  EXPECT_FALSE(MeanInterval({0.1}).has_value());
}

TEST(Compare, TheTableHoldsEachCodeAgainstTheFirst) {
  const std::string table = CompareTable(TwoCodes());
  EXPECT_THAT(table, HasSubstr("vs none"));
  EXPECT_THAT(table, HasSubstr("0.50"));  // adaptive over none.
  EXPECT_THAT(table, HasSubstr("4.00"));  // none over the ideal.
  EXPECT_THAT(table, HasSubstr("a <lab>: 2 steps, 2 seeds"));
  EXPECT_THAT(table, HasSubstr("adaptive: 3 steps were discarded"));
  EXPECT_THAT(
      table, HasSubstr("adaptive: asked to tolerate 1, its plan tolerates 0 at the end\na note\n"));
  EXPECT_THAT(table, Not(HasSubstr("one seed")));
}

TEST(Compare, TheJsonHasTheSame) {
  const auto json = nlohmann::json::parse(CompareJson(TwoCodes()));
  EXPECT_EQ(json["baseline"], "none");
  ASSERT_EQ(json["codes"].size(), 2u);
  EXPECT_DOUBLE_EQ(json["codes"][0]["step_seconds"]["mean"], 0.2);
  EXPECT_DOUBLE_EQ(json["codes"][1]["ratio"], 0.5);
  EXPECT_EQ(json["codes"][1]["tolerate"], 1);
}

TEST(Compare, ThePictureHasABarAndACurveForEachCode) {
  const std::string svg = CompareSvg(TwoCodes());
  EXPECT_THAT(svg, HasSubstr("a &lt;lab>"));
  EXPECT_THAT(svg, HasSubstr("<title>none: 200 ms</title></rect>"));
  EXPECT_THAT(svg, HasSubstr("<title>adaptive: 100 ms</title></rect>"));
  EXPECT_THAT(svg, HasSubstr("<title>adaptive</title></polyline>"));
  EXPECT_THAT(svg, HasSubstr(">ideal</text>"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(Svg, OtherKindsOfPicturesAreRefusedWithWhatToType) {
  EXPECT_TRUE(CheckSvgName("--plot", "codes.svg").ok());
  EXPECT_TRUE(CheckSvgName("--plot", "codes").ok());
  EXPECT_TRUE(CheckSvgName("--plot", "").ok());
  const Status status = CheckSvgName("--timeline", "a.b/x.png");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("--timeline a.b/x.svg"));
}

}  // namespace
}  // namespace motley
