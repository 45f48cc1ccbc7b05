// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coding/decode/tiling.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A form with coefficients 1 and no C.
CodeForm Tiles(uint32_t partitions, const std::vector<std::vector<PartitionId>>& supports) {
  CodeForm form;
  form.name = "tiles";
  form.workers = static_cast<uint32_t>(supports.size());
  form.partitions = partitions;
  for (const auto& support : supports) {
    form.rows.emplace_back();
    for (PartitionId partition : support) form.rows.back().push_back({partition, 1});
  }
  return form;
}

TEST(Decoder, NeedsOneFlagPerRow) {
  const CodeForm form = MustBuild("rs", EqualRequest(4, 1, 4));
  for (auto solve : {&Solve, &SolveClosed, &SolveGeneral}) {
    EXPECT_EQ(solve(form, {true, true}, DecodeLimits{}).code(), StatusCode::kInvalidArgument);
  }
}

TEST(Decoder, SaysHowManyAnswersAreMissing) {
  const CodeForm form = MustBuild("rs", EqualRequest(4, 1, 4));
  const auto result = Solve(form, {true, false, false, true});
  EXPECT_EQ(result.code(), StatusCode::kNotDecodable);
  EXPECT_THAT(result.status().message(), HasSubstr("2 of 4 answers are missing"));
  EXPECT_THAT(result.status().message(), HasSubstr("tolerates 1"));
}

TEST(Decoder, NothingMissingMeansAPlainSumOfReedSolomonAnswers) {
  const CodeForm form = MustBuild("rs", EqualRequest(6, 2, 12));
  const auto result = SolveClosed(form, std::vector<bool>(6, true));
  ASSERT_TRUE(result.ok());
  for (const Complex& a : result->a) EXPECT_EQ(a, Complex(1));
}

TEST(Decoder, FewerMissingThanItBearsUsesTheFreedomForSmallerWeights) {
  const CodeForm form = MustBuild("rs", EqualRequest(16, 5, 16));
  std::vector<bool> present(16, true);
  double last = 0;
  for (WorkerId missing = 0; missing < 5; ++missing) {
    present[missing * 3] = false;
    const auto result = SolveClosed(form, present);
    ASSERT_TRUE(result.ok());
    EXPECT_GE(result->amplification, last * 0.999);
    last = result->amplification;
  }
}

TEST(Decoder, WholeClassesShareTheWeight) {
  // Classes of 3 and 2 workers.
  const CodeForm form = MustBuild("repetition", EqualRequest(5, 1, 10));
  const auto both = Solve(form, std::vector<bool>(5, true));
  ASSERT_TRUE(both.ok());
  EXPECT_NEAR(both->x[0].real() + both->x[1].real(), 1, 1e-15);
  EXPECT_LT(both->amplification, 1);
  for (WorkerId missing = 0; missing < 5; ++missing) {
    const auto one = Solve(form, Without(form, {missing}));
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(one->amplification, 1);
    EXPECT_EQ(one->residual, 0);
  }
}

TEST(Decoder, GeneralFindsWeightsThatNoTilingHas) {
  const CodeForm triangle = Tiles(3, {{0, 1}, {1, 2}, {0, 2}});
  const auto result = Solve(triangle, {true, true, true});
  ASSERT_TRUE(result.ok());
  for (const Complex& a : result->a) EXPECT_NEAR(std::abs(a - 0.5), 0, 1e-12);
  EXPECT_EQ(Solve(triangle, {true, true, false}).code(), StatusCode::kNotDecodable);
}

TEST(Decoder, NothingPresentIsNotDecodable) {
  for (const char* name : {"none", "repetition", "cyclic", "heterogeneous", "rs"}) {
    const CodeForm form = MustBuild(name, EqualRequest(1, 0, 3));
    EXPECT_EQ(Solve(form, {false}).code(), StatusCode::kNotDecodable);
    EXPECT_EQ(SolveGeneral(form, {false}).code(), StatusCode::kNotDecodable);
    EXPECT_TRUE(Solve(form, {true}).ok());
  }
}

TEST(Tiling, TakesTheCoverThatCostsLeast) {
  using Cost = Tiling::Cost;
  // In the order of members: {0} {0,1} {1,2} {2,3} {3}.
  const Tiling tiling(Tiles(4, {{0, 1}, {2, 3}, {0}, {1, 2}, {3}, {2, 3}}));
  EXPECT_FALSE(tiling.disjoint());
  ASSERT_EQ(tiling.supports(), 5);
  EXPECT_EQ(tiling.SupportOf(1), tiling.SupportOf(5));
  EXPECT_THAT(tiling.RowsOf(3), ElementsAre(1, 5));
  const auto cover = [&](std::vector<Cost> costs) { return tiling.Cover(costs); };
  const Cost f = Cost::kFree;
  const Cost x = Cost::kExtra;
  const Cost no = Cost::kImpossible;
  EXPECT_THAT(cover({f, f, f, f, f}), ElementsAre(0, 2, 4));
  EXPECT_THAT(cover({f, f, x, f, f}), ElementsAre(1, 3));
  EXPECT_THAT(cover({x, f, x, x, f}), ElementsAre(1, 3));
  EXPECT_THAT(cover({f, no, f, f, f}), ElementsAre(0, 2, 4));
  EXPECT_THAT(cover({f, f, no, no, f}), IsEmpty());
}

TEST(Tiling, DisjointSupportsHaveOneCover) {
  const Tiling tiling(Tiles(4, {{2}, {0, 3}, {1}, {}, {1}}));
  EXPECT_TRUE(tiling.disjoint());
  EXPECT_EQ(tiling.SupportOf(3), Tiling::kNone);
  EXPECT_THAT(tiling.Cover(std::vector<Tiling::Cost>(3, Tiling::Cost::kFree)),
              ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace motley
