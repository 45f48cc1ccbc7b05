// SPDX-License-Identifier: Apache-2.0
#include "cli/reproduce_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"

namespace motley {
namespace {

using testing::HasSubstr;

std::vector<std::string> Names(const std::vector<const Experiment*>& experiments) {
  std::vector<std::string> names;
  for (const Experiment* experiment : experiments) names.emplace_back(experiment->name);
  return names;
}

TEST(SelectExperiments, AllWithoutNames) {
  const auto all = SelectExperiments({});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), Experiments().size());
}

TEST(SelectExperiments, EachOnceInTheOrderOfTheList) {
  const auto some = SelectExperiments({"a6", "A1", "A6"});
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(Names(*some), (std::vector<std::string>{"A1", "A6"}));
}

TEST(SelectExperiments, UnknownNameGetsTheList) {
  const auto none = SelectExperiments({"A1", "lamda"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(none.status().message(), HasSubstr("'lamda'"));
  EXPECT_THAT(none.status().message(), HasSubstr("did you mean lambda?"));
  EXPECT_THAT(none.status().message(), HasSubstr("A1, A2, A3, A4, A5, A6, A7, A8"));
}

TEST(ReproduceJson, HasExactlyTheseMembers) {
  const auto json = nlohmann::json::parse(
      ReproduceJson({{"A1", "GC", "load 6", 2.0, 2.1, 0.1, true},
                     {"A8", "closed form", "n=256", std::nullopt, 0.5, std::nullopt, false}}));
  ASSERT_TRUE(json.is_array());
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0], (nlohmann::json{{"experiment", "A1"},
                                     {"scheme", "GC"},
                                     {"setting", "load 6"},
                                     {"published", 2.0},
                                     {"measured", 2.1},
                                     {"tolerance", 0.1},
                                     {"pass", true}}));
  EXPECT_EQ(json[1].size(), 7U);
  EXPECT_TRUE(json[1]["published"].is_null());
  EXPECT_TRUE(json[1]["tolerance"].is_null());
  EXPECT_EQ(json[1]["pass"], false);
}

TEST(ReproduceJson, NothingIsAnEmptyArray) { EXPECT_EQ(ReproduceJson({}), "[]\n"); }

}  // namespace
}  // namespace motley
