// SPDX-License-Identifier: Apache-2.0
#include "coding/codes/short_code.h"

#include <fmt/format.h>

#include <array>

#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

CodeRequest WithParts(CodeRequest request, uint32_t parts) {
  request.parts = parts;
  return request;
}

struct ShortCase {
  static constexpr const char* kName = "short";
  static constexpr double kTolerance = 2e-6;
  static std::vector<CodeRequest> Requests() {
    std::vector<CodeRequest> requests;
    for (const CodeRequest& usual : UsualRequests(3)) {
      const auto n = static_cast<uint32_t>(usual.speeds.size());
      // Uses 1 to 4 parts in turn, if there are enough workers.
      const uint32_t m = std::min<uint32_t>(1 + requests.size() % 4, n - usual.stragglers);
      requests.push_back(WithParts(usual, m));
    }
    requests.push_back({{100, 1, 1}, 1, 12, 1, 0, 2});  // One worker holds everything.
    requests.push_back({{2, 2, 4, 4, 8, 8, 8, 12}, 2, 48, 1, 0, 2});   // Wang et al., cluster A.
    requests.push_back({{1e-300, 1, 1e300, 1e300, 5e299}, 1, 20, 1});  // Absurd but valid speeds.
    return requests;
  }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    ExpectSharesFollowSpeeds(request, form, EveryWorker(form));
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Short, CodeSuite, ShortCase);

// The worst values over straggler sets.
struct Worst {
  double residual = 0;
  double amplification = 0;
  double error = 0;  // Relative error of the decoded float sum.
};

Worst Try(const CodeRequest& request, size_t length) {
  const CodeForm form = MustBuild("short", request);
  const CodedJob job = MakeJob(form, length, 5);
  Worst worst;
  for (uint32_t missing = 0; missing <= form.stragglers; ++missing) {
    Random random(3, Stream::kTest, form.workers, missing);
    for (const auto& set : StragglerSets(form.workers, missing, 250, random)) {
      const auto solved = SolveClosed(form, Without(form, set));
      EXPECT_TRUE(solved.ok()) << solved.status().ToString();
      if (!solved.ok()) continue;
      worst.residual = std::max(worst.residual, DecodingResidual(form, solved->a));
      worst.amplification = std::max(worst.amplification, solved->amplification);
      worst.error = std::max(worst.error, RelativeError(Decode(form, job, solved->a), job.sum));
    }
  }
  return worst;
}

// Ye and Abbe's example: seven workers, two stragglers, messages of half the length, four copies.
TEST(ShortCode, ThePapersExampleIsExactForEveryStragglerSet) {
  const CodeRequest request = WithParts(EqualRequest(7, 2, 7), 2);
  const CodeForm form = MustBuild("short", request);
  EXPECT_EQ(form.accumulators, 4);
  for (const auto& row : form.rows) EXPECT_EQ(row.size(), 4);
  EXPECT_EQ(PartLength(form.field, 1000, form.parts), 500);
  const Worst worst = Try(request, 1000);
  EXPECT_LE(worst.residual, 1e-13);
  EXPECT_LE(worst.error, 6e-7);
}

TEST(ShortCode, EverySizeIsExact) {
  for (uint32_t n = 1; n <= 9; ++n) {
    for (uint32_t s = 0; s < n; ++s) {
      for (uint32_t m = 1; s + m <= n; ++m) {
        const Worst worst = Try(WithParts(EqualRequest(n, s, n + 2), m), 2 * m + 8);
        EXPECT_LE(worst.residual, 1e-10) << n << " " << s << " " << m;
        EXPECT_LE(worst.error, 1e-5) << n << " " << s << " " << m;
      }
    }
  }
}

TEST(ShortCode, RoundingStaysSmallHoweverManyWorkers) {
  for (const auto& [n, s, m] : {std::array{8U, 2U, 2U},
                                {16U, 2U, 2U},
                                {32U, 2U, 2U},
                                {64U, 2U, 2U},
                                {16U, 4U, 4U},
                                {32U, 4U, 4U},
                                {64U, 4U, 4U}}) {
    const Worst worst = Try(WithParts(EqualRequest(n, s, n), m), 400);
    RecordProperty("n" + std::to_string(n) + "_s" + std::to_string(s) + "_m" + std::to_string(m),
                   fmt::format("{:.1e}", worst.error));
    EXPECT_LE(worst.residual, 1e-11) << n;
    EXPECT_LE(worst.amplification, s == 2 ? 2 : 14) << n;
    EXPECT_LE(worst.error, s == 2 ? 6e-7 : 6e-6) << n;
  }
}

// With answers as long as gradients the code is Lagrange's basis at 0, as in unit_circle.h.
TEST(ShortCode, OnePartIsTheHeterogeneousCode) {
  const CodeForm form = MustBuild("short", WithParts(UnequalRequest(10, 3, 40, 2), 1));
  EXPECT_FALSE(form.nodes.empty());
  std::vector<std::vector<WorkerId>> holders(40);
  for (WorkerId worker = 0; worker < 10; ++worker) {
    for (const CodeEntry& entry : form.rows[worker]) holders[entry.partition].push_back(worker);
  }
  for (WorkerId worker = 0; worker < 10; ++worker) {
    for (const CodeEntry& entry : form.rows[worker]) {
      EXPECT_EQ(holders[entry.partition].size(), 4);
      Complex product = 1;
      for (WorkerId other : holders[entry.partition]) {
        if (other == worker) continue;
        product *= form.nodes[other] / (form.nodes[other] - form.nodes[worker]);
      }
      EXPECT_LE(std::abs(product - entry.coefficient), 1e-12);
    }
  }
}

TEST(ShortCode, LoadsFollowTheSpeeds) {
  const CodeForm form = MustBuild("short", {{2, 2, 4, 4, 8, 8, 8, 12}, 1, 32, 1, 0, 2});
  std::vector<size_t> loads;
  for (const auto& row : form.rows) loads.push_back(row.size());
  EXPECT_EQ(loads, (std::vector<size_t>{4, 4, 8, 8, 16, 16, 16, 24}));
  Random random(4, Stream::kTest);
  for (int round = 0; round < 100; ++round) {
    const auto n = static_cast<uint32_t>(2 + random.Below(14));
    const auto s = static_cast<uint32_t>(random.Below(std::min(n, 4U)));
    const auto m = static_cast<uint32_t>(1 + random.Below(std::min(n - s, 3U)));
    const Worst worst = Try(WithParts(UnequalRequest(n, s, 3 * n, round), m), 24);
    EXPECT_LE(worst.residual, 1e-10) << n << " " << s << " " << m;
    EXPECT_LE(worst.error, 1e-5) << n << " " << s << " " << m;
  }
}

TEST(ShortCode, AWorkerThatHoldsNothingDoesNotUseUpTheStragglersItBears) {
  const CodeForm slow = MustBuild("short", {{1, 1, 1, 1, 1e-6}, 1, 15, 1, 0, 2});
  ASSERT_TRUE(slow.rows[4].empty());
  EXPECT_TRUE(Validate(slow).ok()) << Validate(slow).ToString();
  EXPECT_TRUE(Solve(slow, Without(slow, {1, 4})).ok());
  EXPECT_FALSE(Solve(slow, Without(slow, {1, 2})).ok());
}

// An exact zero in every gradient beside ordinary numbers stays zero, although answers mix the
// parts.
TEST(ShortCode, ExactZerosStayZeros) {
  const CodeForm form = MustBuild("short", WithParts(EqualRequest(8, 2, 16), 3));
  CodedJob job = MakeJob(form, 60, 1);
  const auto parallel = MakeSerialParallelFor();
  std::vector<Complex> weights(form.parts);
  for (auto& gradient : job.gradients) gradient[7] = gradient[33] = 0;
  StreamDecoder decoder(form, 60, 8, *parallel);
  for (RowId row = 2; row < form.workers; ++row) {
    std::vector<float> answer(decoder.answer_length(), 0);
    for (size_t e = 0; e < form.rows[row].size(); ++e) {
      for (uint32_t part = 0; part < form.parts; ++part) weights[part] = form.B(row, e, part);
      AddParts(form.field, weights, job.gradients[form.rows[row][e].partition], answer, *parallel);
    }
    for (size_t slice = 0; slice < decoder.slice_count(); ++slice) {
      const float* from = answer.data() + decoder.slice_begin(slice);
      AlignedVector values(from, from + decoder.slice_length(slice));
      ASSERT_TRUE(decoder.AddSlice(row, slice, values, 1e6).ok());
    }
  }
  std::vector<float> sum(60);
  ASSERT_TRUE(decoder.Finish(sum).ok());
  for (size_t t = 0; t < sum.size(); ++t) {
    if (t == 7 || t == 33) {
      EXPECT_EQ(sum[t], 0) << t;
    } else {
      EXPECT_NEAR(sum[t], job.sum[t], 1e-4) << t;
      EXPECT_NE(sum[t], 0) << t;
    }
  }
}

TEST(ShortCode, RequestsThatMakeNoSenseAreRefusedWithTheReason) {
  for (const auto& [n, s, m, k] : {std::array{4U, 1U, 0U, 8U},
                                   {4U, 1U, 4U, 8U},
                                   {4U, 4U, 1U, 8U},
                                   {4U, 1U, 1U, 3U},
                                   {64U, 1U, kMaxParts + 1, 64U}}) {
    const CodeRequest request = WithParts(EqualRequest(n, s, k), m);
    EXPECT_EQ(BuildCode("short", request).code(), StatusCode::kInvalidArgument);
  }
  const CodeForm form = MustBuild("short", WithParts(EqualRequest(5, 1, 5), 2));
  EXPECT_EQ(SolveClosed(form, {true}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(SolveClosed(form, Without(form, {0, 1})).code(), StatusCode::kNotDecodable);
  EXPECT_EQ(SolveClosed(form, Without(form, {0}), {.tolerance = 1e-9}).code(),
            StatusCode::kNotDecodable);
}

TEST(ShortCode, FormsWithPartsThatDoNotFitAreRefused) {
  const CodeForm form = MustBuild("short", WithParts(EqualRequest(5, 1, 5), 2));
  ASSERT_TRUE(Validate(form).ok());
  CodeForm lacking = form;
  lacking.other_parts[1].pop_back();
  EXPECT_EQ(Validate(lacking).code(), StatusCode::kInvalidArgument);
  CodeForm wrong = form;
  wrong.other_parts[1][0] += 1e-6;
  EXPECT_EQ(Validate(wrong).code(), StatusCode::kInvalidArgument);
  CodeForm no_parts = form;
  no_parts.parts = 0;
  EXPECT_EQ(Validate(no_parts).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace motley
