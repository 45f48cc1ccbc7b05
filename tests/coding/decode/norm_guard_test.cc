// SPDX-License-Identifier: Apache-2.0
// Answers that decode on paper but not in float: random codes for many workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "coding/decode/decoder_checks.h"
#include "coding/decode/replacement.h"
#include "coding/decode/stream_decoder.h"
#include "coding/placement/straggler_sets.h"
#include "tests/coding/coded_job.h"

namespace motley {
namespace {

using Outcome = StreamDecoder::Outcome;

constexpr DecodeLimits kNoGuard{1e-6, std::numeric_limits<double>::infinity()};

class NormGuard : public ::testing::Test {
 protected:
  NormGuard() : form_(MustBuild("cyclic", EqualRequest(32, 4, 64))), job_(MakeJob(form_, 64, 1)) {
    Random random(1, Stream::kTest);
    for (const auto& set : StragglerSets(32, 4, 500, random)) {
      std::vector<bool> present = Without(form_, set);
      if (Solve(form_, present).ok()) continue;
      present[set[0]] = true;
      if (Solve(form_, present).ok()) missing_ = set;
    }
  }

  // Adds the only slice of a row.
  Outcome Add(StreamDecoder& decoder, RowId row) {
    AlignedVector values(job_.answers[row].begin(), job_.answers[row].end());
    return decoder.AddSlice(row, 0, values, 1e9).value();
  }

  CodeForm form_;
  CodedJob job_;
  std::vector<WorkerId> missing_;  // Refused, but accepted with one more answer.
  std::unique_ptr<ParallelFor> parallel_ = MakeSerialParallelFor();
};

TEST_F(NormGuard, RefusesWhatIsExactOnPaperOnly) {
  ASSERT_EQ(missing_.size(), 4);
  const std::vector<bool> present = Without(form_, missing_);
  for (auto solve : {&SolveClosed, &SolveGeneral}) {
    EXPECT_TRUE(solve(form_, present, kNoGuard).ok());
    const auto refused = solve(form_, present, DecodeLimits{});
    EXPECT_EQ(refused.code(), StatusCode::kNotDecodable);
    EXPECT_THAT(refused.status().message(), ::testing::HasSubstr("norm guard"));
  }
}

// The growth of rounding errors. All holders of a partition round its gradient. Column p of |a| |B|
// bounds how much that error grows, relative to the gradient's norm.
double Growth(const CodeForm& form, const std::vector<Complex>& a) {
  std::vector<double> columns(form.partitions, 0);
  for (RowId row = 0; row < form.workers; ++row) {
    for (const CodeEntry& entry : form.rows[row]) {
      columns[entry.partition] += std::abs(a[row]) * std::abs(entry.coefficient);
    }
  }
  return *std::max_element(columns.begin(), columns.end());
}

TEST_F(NormGuard, AcceptsNothingThatCouldLoseMoreThanItPromises) {
  double most = 0;
  int refused = 0;
  Random random(2, Stream::kTest);
  for (const auto& set : StragglerSets(32, 4, 3000, random)) {
    const std::vector<bool> present = Without(form_, set);
    const auto solved = Solve(form_, present);
    const double growth = Growth(form_, Solve(form_, present, kNoGuard)->a);
    if (!solved.ok()) ++refused;
    if (solved.ok()) most = std::max(most, growth);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LE(most * 0x1p-24, DecodeLimits().tolerance);
  EXPECT_GT(most * 0x1p-24, DecodeLimits().tolerance / 10)
      << "with much less growth, waiting would be pointless";
}

// Two of five edges between two vertices are in no matching, so a partition is on more than s + 1
// workers.
TEST(GraphNormGuard, CountsTheEdgesThatAreInNoMatching) {
  const CodeForm form = MustBuild("graph", EqualRequest(5, 2, 10));
  const double most = DecodeLimits().tolerance / 0x1p-24;
  for (const bool too_much : {true, false}) {
    const double large = most / (too_much ? 3.9 : 4.1);
    DecodingVector result;
    result.a = {large, -large, large, -large, 1};
    ASSERT_NEAR(Growth(form, result.a), 4 * large + 1, 1e-6 * most);
    EXPECT_EQ(Accept(form, std::move(result), 0, {}).ok(), !too_much);
  }
}

TEST_F(NormGuard, OneMoreAnswerIsEnough) {
  ASSERT_EQ(missing_.size(), 4);
  std::vector<bool> present = Without(form_, missing_);
  present[missing_[0]] = true;
  const auto result = Solve(form_, present);
  ASSERT_TRUE(result.ok());
  EXPECT_LE(RelativeError(Decode(form_, job_, result->a), job_.sum), 1e-5);
}

TEST_F(NormGuard, TheStreamWaitsForOneMoreAnswerAndSaysWhichToReplace) {
  ASSERT_EQ(missing_.size(), 4);
  StreamDecoder decoder(form_, 64, 64, *parallel_);
  std::vector<bool> absent(32, false);
  for (WorkerId worker : missing_) absent[worker] = true;
  EXPECT_THAT(Replacement(std::make_shared<const CodeForm>(form_)).RowsFor(absent),
              ::testing::ElementsAre(missing_[0]));
  for (RowId row = 0; row < 32; ++row) {
    if (absent[row]) continue;
    EXPECT_EQ(Add(decoder, row), Outcome::kAdded);
  }
  EXPECT_FALSE(decoder.Decodable());
  std::vector<float> sum(64);
  EXPECT_EQ(decoder.Finish(sum).code(), StatusCode::kNotDecodable);
  EXPECT_EQ(Add(decoder, missing_[0]), Outcome::kAdded);
  ASSERT_TRUE(decoder.Decodable());
  EXPECT_EQ(Add(decoder, missing_[1]), Outcome::kNotNeeded);
  ASSERT_TRUE(decoder.Finish(sum).ok());
  EXPECT_LE(RelativeError(sum, job_.sum), 1e-5);
  EXPECT_GT(decoder.amplification(), 1);
  EXPECT_LE(decoder.residual(), 1e-6);
}

TEST_F(NormGuard, CodesRefusedWithEveryAnswerNeverDecode) {
  for (double tolerance : {1e-5, 1e-9}) {
    StreamDecoder decoder(form_, 64, 64, *parallel_, {1e-6, tolerance});
    for (RowId row = 0; row < 32; ++row) Add(decoder, row);
    EXPECT_EQ(decoder.Decodable(), tolerance == 1e-5);
    std::vector<float> sum(64);
    const Status status = decoder.Finish(sum);
    EXPECT_EQ(status.ok(), tolerance == 1e-5) << status.ToString();
    EXPECT_EQ(status.code(), status.ok() ? StatusCode::kOk : StatusCode::kNotDecodable);
  }
}

TEST_F(NormGuard, LetsEveryAnswerTogetherPassUpTo64Workers) {
  for (uint32_t s : {1, 3, 6}) {
    const CodeForm form = MustBuild("cyclic", EqualRequest(64, s, 64));
    EXPECT_TRUE(Solve(form, std::vector<bool>(64, true)).ok());
  }
}

}  // namespace
}  // namespace motley
