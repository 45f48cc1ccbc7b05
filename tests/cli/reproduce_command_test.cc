// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/reproduce_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "nlohmann/json.hpp"
#include "reproduce/rows.h"

namespace motley {
namespace {

using testing::ContainsRegex;
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
  const auto json = nlohmann::json::parse(ReproduceJson(
      {{"A1", "GC", "load 6", Reference{ReferenceKind::kPaper, "Table IV", 2.0}, 2.1, 0.1, true},
       {"A8", "closed form", "n=256", std::nullopt, 0.5, std::nullopt, false}}));
  ASSERT_TRUE(json.is_array());
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0], (nlohmann::json{{"experiment", "A1"},
                                     {"scheme", "GC"},
                                     {"setting", "load 6"},
                                     {"published", 2.0},
                                     {"published_up_to", nullptr},
                                     {"reference_value", nullptr},
                                     {"reference_kind", "paper"},
                                     {"reference", "Table IV"},
                                     {"measured", 2.1},
                                     {"tolerance", 0.1},
                                     {"pass", true}}));
  EXPECT_EQ(json[1].size(), 11U);
  EXPECT_TRUE(json[1]["published"].is_null());
  EXPECT_TRUE(json[1]["reference_value"].is_null());
  EXPECT_TRUE(json[1]["reference_kind"].is_null());
  EXPECT_TRUE(json[1]["reference"].is_null());
  EXPECT_TRUE(json[1]["tolerance"].is_null());
  EXPECT_EQ(json[1]["pass"], false);
}

ReproducedRow RowOf(ReferenceKind kind) {
  return {"X", "scheme", "setting", Reference{kind, "where from", 2.0}, 2.1, 0.1, true};
}

constexpr auto kAllKinds = {ReferenceKind::kPaper, ReferenceKind::kArtefact,
                            ReferenceKind::kAuthorsCode, ReferenceKind::kFormula,
                            ReferenceKind::kOurSimulation};

TEST(ReproduceJson, OnlyPapersAndArtefactsArePublished) {
  for (const ReferenceKind kind : kAllKinds) {
    const auto row = nlohmann::json::parse(ReproduceJson({RowOf(kind)}))[0];
    SCOPED_TRACE(row["reference_kind"].get<std::string>());
    const bool published = kind == ReferenceKind::kPaper || kind == ReferenceKind::kArtefact;
    EXPECT_EQ(row["published"].is_null(), !published);
    EXPECT_EQ(row["reference_value"].is_null(), published);
  }
}

TEST(ReproduceTable, PutsAFigureUnderThePublishedOnesOnlyWhenItIsOne) {
  const Experiment experiment{"X", "shows", "schemes", false, nullptr};
  for (const ReferenceKind kind : kAllKinds) {
    const std::string text = ReproduceTable(experiment, {.rows = {RowOf(kind)}, .notes = {}}, 0);
    SCOPED_TRACE(text);
    EXPECT_THAT(text, HasSubstr(std::string(KindName(kind)) + ": where from"));
    // The columns are right-aligned: the figure ends where its column's title ends.
    const bool published = kind == ReferenceKind::kPaper || kind == ReferenceKind::kArtefact;
    const size_t title_line = text.find("scheme, setting");
    const size_t row_line = text.find("scheme  setting");
    const auto end_of = [&](const char* title) {
      return text.find(title, title_line) + std::strlen(title) - title_line;
    };
    const size_t figure_end = text.find(" 2 ", row_line) + 2 - row_line;
    EXPECT_EQ(figure_end, end_of(published ? "published" : "reference"));
  }
}

TEST(ReproduceTable, ShowsDifferencesFromAStatedRange) {
  RowList rows("A1");
  const Reference range{ReferenceKind::kStatement, "abstract: 2 to 3", 2, 3};
  EXPECT_TRUE(rows.CompareRange("GC", "low", range, 1.96, 0.05));
  EXPECT_TRUE(rows.CompareRange("GC", "within", range, 2.4, 0.05));
  EXPECT_FALSE(rows.CompareRange("GC", "high", range, 3.3, 0.05));
  const ExperimentResult result = std::move(rows).Take();
  for (const ReproducedRow& row : result.rows) EXPECT_TRUE(row.pass) << row.setting;
  const std::string table = ReproduceTable(*FindExperiment("A1"), result, 0);
  EXPECT_THAT(table, ContainsRegex("low +2 to 3 +1.96 +-2.0 % +2.5 % +pass"));
  EXPECT_THAT(table, ContainsRegex("within +2 to 3 +2.4 +.0.0 % +[0-9.]+ % +pass"));
  EXPECT_THAT(table, ContainsRegex("high +2 to 3 +3.3 +.10.0 % +differs"));
  EXPECT_EQ(nlohmann::json::parse(ReproduceJson(result.rows))[2]["published_up_to"], 3);
}

TEST(ReproduceTable, FitsANarrowTerminal) {
  const Experiment experiment{"X", "shows", "schemes", false, nullptr};
  ReproducedRow row = RowOf(ReferenceKind::kPaper);
  row.setting = "load 6, q=0.15: messages";
  for (const size_t columns : {60, 80, 119}) {
    const std::string text = ReproduceTable(experiment, {.rows = {row}, .notes = {}}, columns);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << line;
    EXPECT_THAT(text, HasSubstr("scheme, load 6, q=0.15: messages"));
    EXPECT_THAT(text, HasSubstr(" 2.1 "));
    EXPECT_THAT(text, HasSubstr("pass"));
  }
}

TEST(ReproduceJson, NothingIsAnEmptyArray) { EXPECT_EQ(ReproduceJson({}), "[]\n"); }

}  // namespace
}  // namespace motley
