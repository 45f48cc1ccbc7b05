// SPDX-License-Identifier: Apache-2.0
#include "reproduce/experiments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <regex>
#include <set>

#include "reproduce/rows.h"
#include "tests/reproduce/shared_data.h"

namespace motley {
namespace {

using testing::HasSubstr;

// With few runs, means are less exact.
constexpr double kEffort = 0.05;
constexpr double kMoreTolerance = 0.08;
// For tests that only look at the references.
constexpr double kLeastEffort = 1e-3;

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Experiment& experiment : Experiments()) names.emplace_back(experiment.name);
  return names;
}

Result<ExperimentResult> RunOnce(const Experiment& experiment, ParallelFor& parallel, double effort,
                                 uint64_t seed = 1) {
  ReproduceContext context;
  context.seed = seed;
  context.effort = effort;
  context.parallel = &parallel;
  context.data = SharedDataFolder();
  return experiment.run(context);
}

class EachExperiment : public testing::TestWithParam<std::string> {};

TEST_P(EachExperiment, ComesNearTheReferencesWithFewRuns) {
  const Experiment& experiment = *FindExperiment(GetParam());
  if (experiment.needs_data && SharedDataFolder().empty()) {
    GTEST_SKIP() << "the recorded trace is not beside the checkout";
  }
  const auto parallel = MakeSerialParallelFor();
  const auto result = RunOnce(experiment, *parallel, kEffort);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  ASSERT_FALSE(result->rows.empty());
  std::set<std::string> seen;
  for (const ReproducedRow& row : result->rows) {
    SCOPED_TRACE(row.scheme + ", " + row.setting);
    EXPECT_EQ(row.experiment, experiment.name);
    EXPECT_TRUE(seen.insert(row.scheme + "|" + row.setting).second) << "twice";
    EXPECT_TRUE(std::isfinite(row.measured));
    if (!row.reference) {
      const double bound = row.tolerance.value_or(row.measured);
      // Gains must reach theirs.
      EXPECT_TRUE(row.pass ||
                  (row.experiment != "lambda" && row.measured <= bound * (1 + kMoreTolerance)))
          << row.measured;
      continue;
    }
    // A figure may differ from a range that is stated without its settings.
    if (row.reference->up_to && !row.tolerance) continue;
    ASSERT_TRUE(row.tolerance.has_value());
    const double expected = NearestIn(*row.reference, row.measured);
    const double most = (*row.tolerance + kMoreTolerance) * std::abs(expected);
    EXPECT_NEAR(row.measured, expected, most);
  }
}

// True for references that a reader can look up, like "Table IV" or "Figure 3(b)".
bool NamesATableOrAFigure(const std::string& source) {
  return std::regex_search(source, std::regex("(Table|Figure) ([0-9]+|[IVX]+)\\b"));
}

TEST_P(EachExperiment, CitesATableOrAFigureForWhatItCallsPublished) {
  const Experiment& experiment = *FindExperiment(GetParam());
  if (experiment.needs_data && SharedDataFolder().empty()) {
    GTEST_SKIP() << "the recorded trace is not beside the checkout";
  }
  const auto parallel = MakeSerialParallelFor();
  const auto result = RunOnce(experiment, *parallel, kLeastEffort);
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  for (const ReproducedRow& row : result->rows) {
    if (!row.reference) continue;
    SCOPED_TRACE(row.scheme + ", " + row.setting);
    EXPECT_FALSE(row.reference->source.empty());
    EXPECT_TRUE(std::isfinite(row.reference->value));
    if (row.reference->kind == ReferenceKind::kStatement) {
      EXPECT_THAT(row.reference->source, HasSubstr("abstract"));
    } else if (IsPublished(row.reference->kind)) {
      EXPECT_TRUE(NamesATableOrAFigure(row.reference->source)) << row.reference->source;
    }
    // Our own simulations and runs of others' code must not look like citations.
    if (row.reference->kind == ReferenceKind::kOurSimulation) {
      EXPECT_THAT(row.reference->source, HasSubstr("of this project"));
    }
  }
}

TEST(Experiments, OnlyFiveCompareWithPublishedFigures) {
  const auto parallel = MakeSerialParallelFor();
  std::set<std::string> published;
  for (const Experiment& experiment : Experiments()) {
    if (experiment.needs_data && SharedDataFolder().empty()) continue;
    const auto result = RunOnce(experiment, *parallel, kLeastEffort);
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    for (const ReproducedRow& row : result->rows) {
      if (row.reference && IsPublished(row.reference->kind)) published.insert(row.experiment);
    }
  }
  EXPECT_EQ(published, (std::set<std::string>{"A1", "A2", "A3", "A6", "SPARe"}));
}

// Number of rows of A7 that fail with this decoder, for codes with names like `scheme`. Rows that
// compare with least squares in every draw are not counted.
int FailingMeans(const ApproximateSolver& solver, const std::string& scheme) {
  const auto parallel = MakeSerialParallelFor();
  ReproduceContext context;
  context.effort = kEffort;
  context.parallel = parallel.get();
  const auto result = RunApproximateDecoders(context, solver);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  int failing = 0;
  for (const ReproducedRow& row : result->rows) {
    failing += !row.pass && row.reference && row.scheme.starts_with(scheme) ? 1 : 0;
  }
  return failing;
}

TEST(Experiments, ADecoderThatClaimsToBeExactTurnsRowsRed) {
  EXPECT_EQ(FailingMeans(&SolveApproximate, "graph"), 0);
  const ApproximateSolver lies = [](const CodeForm& form, const std::vector<bool>& present) {
    Result<ApproximateDecoding> decoding = SolveApproximate(form, present);
    if (decoding.ok()) {
      decoding->coverage.assign(form.partitions, 1);
      decoding->error = 0;
      decoding->mean_coverage = 1;
    }
    return decoding;
  };
  EXPECT_GE(FailingMeans(lies, "graph"), 2);
  EXPECT_GE(FailingMeans(lies, "cyclic"), 2);
}

TEST(Experiments, ADecoderThatLeavesHalfMoreTurnsRowsRed) {
  const ApproximateSolver worse = [](const CodeForm& form, const std::vector<bool>& present) {
    Result<ApproximateDecoding> decoding = SolveApproximate(form, present);
    if (decoding.ok()) decoding->error *= 1.5;
    return decoding;
  };
  EXPECT_GE(FailingMeans(worse, "graph"), 2);
}

TEST_P(EachExperiment, DoesNotDependOnTheNumberOfThreads) {
  const Experiment& experiment = *FindExperiment(GetParam());
  if (experiment.needs_data && SharedDataFolder().empty()) {
    GTEST_SKIP() << "the recorded trace is not beside the checkout";
  }
  const auto serial = MakeSerialParallelFor();
  const auto threads = MakeThreadParallelFor(3);
  const auto one = RunOnce(experiment, *serial, kEffort);
  const auto many = RunOnce(experiment, *threads, kEffort);
  ASSERT_TRUE(one.ok() && many.ok());
  ASSERT_EQ(one->rows.size(), many->rows.size());
  for (size_t i = 0; i < one->rows.size(); ++i) {
    EXPECT_EQ(one->rows[i].measured, many->rows[i].measured) << one->rows[i].setting;
  }
}

std::string NameOfTest(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase(name, '.');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, EachExperiment, testing::ValuesIn(Names()), NameOfTest);

TEST(Experiments, RandomRunsFollowTheSeed) {
  const auto parallel = MakeSerialParallelFor();
  const auto a = RunOnce(*FindExperiment("A1"), *parallel, kEffort, 1);
  const auto b = RunOnce(*FindExperiment("A1"), *parallel, kEffort, 2);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->rows.front().measured, b->rows.front().measured);
}

TEST(Experiments, AreFoundByNameInAnyCase) {
  ASSERT_NE(FindExperiment("a3"), nullptr);
  EXPECT_STREQ(FindExperiment("a3")->name, "A3");
  EXPECT_EQ(FindExperiment("A33"), nullptr);
  EXPECT_EQ(FindExperiment(""), nullptr);
}

TEST(Experiments, WithoutDataSayWhatIsMissing) {
  const auto parallel = MakeSerialParallelFor();
  ReproduceContext context;
  context.parallel = parallel.get();
  for (const Experiment& experiment : Experiments()) {
    if (!experiment.needs_data) continue;
    const auto result = experiment.run(context);
    ASSERT_FALSE(result.ok()) << experiment.name;
    EXPECT_EQ(result.code(), StatusCode::kNotFound);
    EXPECT_THAT(result.status().ToString(), HasSubstr("--data"));
  }
}

TEST(RowList, DecidesWhatPasses) {
  RowList rows("X");
  const Reference two{ReferenceKind::kFormula, "1 + 1", 2.0};
  rows.Compare("a", "within", two, 2.09, 0.05);
  rows.Compare("a", "above", two, 2.11, 0.05);
  rows.Compare("a", "below", two, 1.89, 0.05);
  rows.Compare("a", "far below", two, 0, 0.05);
  rows.Compare("a", "no number", two, std::nan(""), 0.05);
  rows.AtMost("b", "at", 1.0, 1.0);
  rows.AtMost("b", "over", 1.01, 1.0);
  rows.AtMost("b", "no number", std::nan(""), 1.0);
  rows.AtLeast("b", "at", 1.0, 1.0);
  rows.AtLeast("b", "under", 0.99, 1.0);
  rows.AtLeast("b", "no number", std::nan(""), 1.0);
  rows.Show("c", "anything", 7);
  const ExperimentResult result = std::move(rows).Take();
  std::vector<bool> passes;
  for (const ReproducedRow& row : result.rows) passes.push_back(row.pass);
  EXPECT_EQ(passes, (std::vector<bool>{true, false, false, false, false, true, false, false, true,
                                       false, false, true}));
  EXPECT_FALSE(result.rows.back().reference.has_value());
  EXPECT_FALSE(result.rows.back().tolerance.has_value());
}

}  // namespace
}  // namespace motley
