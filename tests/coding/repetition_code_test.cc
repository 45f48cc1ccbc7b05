// SPDX-License-Identifier: Apache-2.0
#include "coding/allocation.h"
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

struct RepetitionCase {
  static constexpr const char* kName = "repetition";
  static constexpr double kTolerance = 1e-6;
  static std::vector<CodeRequest> Requests() {
    std::vector<CodeRequest> requests = UsualRequests(3);
    requests.push_back({{100, 1, 1}, 1, 12, 1});
    requests.push_back({{1, 1, 1, 1e-6, 1e-6}, 1, 12, 1});  // Two hold nothing.
    return requests;
  }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    if (form.stragglers == 0) return ExpectSharesFollowSpeeds(request, form, EveryWorker(form));
    if (form.tiling()) return ExpectEqualLoads(request, form);
    for (const auto& members : BalancedClasses(request.speeds, form.stragglers + 1)) {
      ExpectSharesFollowSpeeds(request, form, members);
    }
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Repetition, CodeSuite, RepetitionCase);

TEST(RepetitionCode, EqualWorkersInWholeGroupsAreTilesOthersClasses) {
  EXPECT_TRUE(MustBuild("repetition", EqualRequest(6, 2, 30)).tiling());
  EXPECT_EQ(MustBuild("repetition", EqualRequest(7, 2, 30)).accumulators, 3);
  EXPECT_EQ(MustBuild("repetition", UnequalRequest(6, 2, 30, 1)).accumulators, 3);
}

// Neighbours in number are slow together: no group has two, as long as there are two groups.
TEST(RepetitionCode, NeighboursHoldDifferentData) {
  const CodeForm form = MustBuild("repetition", EqualRequest(12, 2, 24));
  for (WorkerId worker = 0; worker < 12; ++worker) {
    ASSERT_EQ(form.rows[worker].size(), 6);
    EXPECT_EQ(form.rows[worker][0].partition, worker % 4 * 6);
  }
  for (WorkerId first = 0; first <= 8; ++first) {
    std::vector<bool> present(12, true);
    for (WorkerId t = 0; t < 4; ++t) present[first + t] = false;
    EXPECT_TRUE(Solve(form, present).ok());  // Four in a row, where s is two.
  }
}

TEST(RepetitionCode, DecodesWithMoreMissingWhereOneOfEachGroupIsLeft) {
  const CodeForm groups = MustBuild("repetition", EqualRequest(6, 2, 30));
  EXPECT_TRUE(Solve(groups, {false, false, true, true, false, false}).ok());
  const CodeRequest unequal{{2, 1, 1, 1, 1}, 1, 30, 1};
  const CodeForm classes = MustBuild("repetition", unequal);
  for (const auto& members : BalancedClasses(unequal.speeds, 2)) {
    std::vector<bool> present(5, false);
    for (WorkerId worker : members) present[worker] = true;
    EXPECT_TRUE(Solve(classes, present).ok());
    present[members[0]] = false;
    EXPECT_EQ(Solve(classes, present).code(), StatusCode::kNotDecodable);
  }
}

TEST(RepetitionCode, TheSlowestClassIsNearTheOptimum) {
  const CodeRequest request{{2, 2, 4, 4, 8, 8, 8, 12}, 1, 240, 1};
  const CodeForm form = MustBuild("repetition", request);
  double slowest = 0;
  for (WorkerId i = 0; i < 8; ++i) {
    slowest = std::max(slowest, static_cast<double>(form.rows[i].size()) / request.speeds[i]);
  }
  EXPECT_DOUBLE_EQ(slowest, 2.0 * 240 / 48);  // (s + 1) k / sum of speeds.
}

}  // namespace
}  // namespace motley
