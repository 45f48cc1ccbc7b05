// SPDX-License-Identifier: Apache-2.0
#include "api/request/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ParseSpeeds, ReadsPositiveNumbers) {
  EXPECT_THAT(*ParseSpeeds("--speeds", "1,0.25,3e1"), ElementsAre(1, 0.25, 30));
}

TEST(ParseSpeeds, NamesThePartThatIsWrong) {
  for (const char* text : {"", "1,,2", "1,2,", "1,-2", "1,0", "1,x", "1,2x", "1,inf", "1,nan"}) {
    const auto speeds = ParseSpeeds("--worker-speeds", text);
    ASSERT_FALSE(speeds.ok()) << text;
    EXPECT_EQ(speeds.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(speeds.status().message(), HasSubstr("--worker-speeds"));
  }
  EXPECT_THAT(ParseSpeeds("--speeds", "1,2,x").status().message(), HasSubstr("part 3 ('x')"));
}

TEST(ParseSpeeds, RefusesSpeedsTooFarApart) {
  EXPECT_TRUE(ParseSpeeds("--speeds", "1,0.001").ok());
  EXPECT_TRUE(ParseSpeeds("--speeds", "5000,2500").ok());
  for (const char* text : {"1,1e308", "1e308,1e308", "1,0.0009", "1e-300,1e-300", "2000,1"}) {
    const auto speeds = ParseSpeeds("--worker-speeds", text);
    EXPECT_EQ(speeds.code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseDuration, KnowsItsUnits) {
  EXPECT_EQ(*ParseDuration("--t", "2ms"), std::chrono::milliseconds(2));
  EXPECT_EQ(*ParseDuration("--t", "1.5s"), std::chrono::milliseconds(1500));
  EXPECT_EQ(*ParseDuration("--t", "250us"), std::chrono::microseconds(250));
  EXPECT_EQ(*ParseDuration("--t", "60s"), std::chrono::seconds(60));
  EXPECT_EQ(*ParseDuration("--t", "7ns"), std::chrono::nanoseconds(7));
}

TEST(ParseDuration, RefusesWhatIsNoTime) {
  for (const char* text : {"", "2", "ms", "-2ms", "0s", "2 ms", "2min", "nans", "infs", "61s"}) {
    EXPECT_EQ(ParseDuration("--t", text).code(), StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace motley
