// SPDX-License-Identifier: Apache-2.0
#include "coding/decode/c_shape.h"
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

struct GroupCase {
  static constexpr const char* kName = "group";
  static constexpr double kTolerance = 2e-6;
  static std::vector<CodeRequest> Requests() {
    std::vector<CodeRequest> requests = UsualRequests(3);
    requests.push_back({{1, 2, 3, 4, 4}, 1, 7, 1});  // Wang et al.'s example.
    requests.push_back({{1, 2, 3, 4, 4}, 2, 14, 1});
    requests.push_back({{2, 2, 4, 4, 8, 8, 8, 12}, 1, 24, 1});  // Wang et al., cluster A.
    requests.push_back({{2, 2, 4, 4, 8, 8, 8, 12}, 2, 48, 1});
    requests.push_back({{1, 1, 1, 1e-6}, 1, 12, 1});
    requests.push_back({{3, 1, 2, 3, 3, 2, 1, 3, 3, 3}, 3, 24, 1});
    return requests;
  }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    ExpectSharesFollowSpeeds(request, form, EveryWorker(form));
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Group, CodeSuite, GroupCase);

std::vector<bool> Only(const CodeForm& form, const std::vector<WorkerId>& rows) {
  std::vector<bool> present(form.workers, false);
  for (WorkerId row : rows) present[row] = true;
  return present;
}

TEST(GroupCode, ThePapersExampleHasTwoGroups) {
  const CodeForm form = MustBuild("group", {{1, 2, 3, 4, 4}, 1, 7, 1});
  std::vector<std::vector<PartitionId>> held;
  for (const auto& row : form.rows) {
    held.emplace_back();
    for (const CodeEntry& entry : row) {
      EXPECT_EQ(entry.coefficient, Complex(1));
      held.back().push_back(entry.partition);
    }
  }
  EXPECT_EQ(held, (std::vector<std::vector<PartitionId>>{
                      {0}, {1, 2}, {3, 4, 5}, {0, 1, 2, 6}, {3, 4, 5, 6}}));
  EXPECT_EQ(form.field, Field::kReal);
  EXPECT_EQ(ShapeOfC(form), CShape::kClasses);
  EXPECT_TRUE(Solve(form, Only(form, {0, 1, 4})).ok());
  EXPECT_TRUE(Solve(form, Only(form, {2, 3})).ok());  // Two of five, although n - s is four.
  EXPECT_FALSE(Solve(form, Only(form, {0, 1, 2})).ok());
}

// Small clusters with some groups and a coded rest.
std::vector<CodeForm> MixedForms() {
  std::vector<CodeForm> forms;
  Random random(1, Stream::kTest);
  for (int round = 0; round < 400; ++round) {
    const auto n = static_cast<uint32_t>(5 + random.Below(6));
    CodeRequest request{{}, static_cast<uint32_t>(2 + random.Below(2)), 24, 1};
    for (uint32_t i = 0; i < n; ++i) request.speeds.push_back(1.0 + random.Below(3));
    CodeForm form = MustBuild("group", request);
    const bool mixed = form.nodes.empty() && form.field == Field::kComplexPacked;
    if (mixed) forms.push_back(std::move(form));
  }
  return forms;
}

// The coded rest and each group are blocks of C. Each block alone gives the sum, and nothing less
// does.
TEST(GroupCode, AnyBlockAloneDecodesAndNothingLess) {
  const std::vector<CodeForm> forms = MixedForms();
  ASSERT_GE(forms.size(), 30);
  for (const CodeForm& form : forms) {
    ASSERT_TRUE(Validate(form).ok()) << Validate(form).ToString();
    const std::vector<CBlock> blocks = BlocksOfC(form);
    ASSERT_GE(blocks.size(), 2);
    const CodedJob job = MakeJob(form, 20, 1);
    uint32_t coded = 0;
    for (const CBlock& block : blocks) {
      coded += block.bears > 0 ? 1 : 0;
      std::vector<WorkerId> rows(block.rows.begin() + static_cast<std::ptrdiff_t>(block.bears),
                                 block.rows.end());
      const auto whole = Solve(form, Only(form, rows));
      ASSERT_TRUE(whole.ok()) << whole.status().ToString();
      EXPECT_LE(RelativeError(Decode(form, job, whole->a), job.sum), 2e-6);
      rows.pop_back();
      EXPECT_EQ(Solve(form, Only(form, rows)).code(), StatusCode::kNotDecodable);
    }
    EXPECT_EQ(coded, 1);
  }
}

TEST(GroupCode, TheStreamEndsWithTheFirstWholeBlock) {
  const auto parallel = MakeSerialParallelFor();
  Random random(2, Stream::kTest);
  for (const CodeForm& form : MixedForms()) {
    const CodedJob job = MakeJob(form, 20, 2);
    std::vector<WorkerId> order = EveryWorker(form);
    random.Shuffle(std::span(order));
    StreamDecoder decoder(form, 20, 10, *parallel);
    const Replacement replacement(std::make_shared<const CodeForm>(form));
    std::vector<bool> present(form.workers, false);
    for (WorkerId row : order) {
      EXPECT_EQ(decoder.Decodable(), Solve(form, present).ok());
      std::vector<bool> absent = present;
      absent.flip();
      EXPECT_EQ(replacement.RowsFor(absent).empty(), decoder.Decodable());
      if (decoder.Decodable()) break;
      for (size_t slice = 0; slice < 2; ++slice) {
        const float* from = job.answers[row].data() + 10 * slice;
        AlignedVector values(from, from + 10);
        ASSERT_TRUE(decoder.AddSlice(row, slice, values, 1e9).ok());
      }
      present[row] = true;
    }
    std::vector<float> sum(20);
    ASSERT_TRUE(decoder.Finish(sum).ok());
    EXPECT_LE(RelativeError(sum, job.sum), 2e-6);
  }
}

// The product of the distances between nodes exceeds double's range. Every worker holds two thirds
// of the data, so that nothing tiles it.
TEST(GroupCode, MoreStragglersThanAProductOfDoublesBears) {
  const CodeForm form = MustBuild("group", EqualRequest(1101, 733, 1101));
  EXPECT_EQ(form.rows[0].size(), 734);
  EXPECT_EQ(form.nodes.size(), 1101);
  for (const auto& row : form.rows) {
    for (const CodeEntry& entry : row) ASSERT_TRUE(std::isfinite(std::abs(entry.coefficient)));
  }
}

TEST(GroupCode, EqualSpeedsAreAllGroups) {
  const CodeForm form = MustBuild("group", EqualRequest(60, 2, 120));
  EXPECT_EQ(ShapeOfC(form), CShape::kClasses);
  EXPECT_EQ(BlocksOfC(form).size(), 3);
}

}  // namespace
}  // namespace motley
