// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

struct HeterogeneousCase {
  static constexpr const char* kName = "heterogeneous";
  static constexpr double kTolerance = 2e-6;
  static std::vector<CodeRequest> Requests() {
    std::vector<CodeRequest> requests = UsualRequests(3);
    requests.push_back({{100, 1, 1}, 1, 12, 1});                // One worker holds everything.
    requests.push_back({{1, 1, 1, 1e-6}, 1, 12, 1});            // One worker holds nothing.
    requests.push_back({{2, 2, 4, 4, 8, 8, 8, 12}, 2, 48, 1});  // Wang et al., cluster A.
    requests.push_back({{1e-300, 1, 1e300, 1e300, 5e299}, 2, 20, 1});  // Absurd but valid speeds.
    return requests;
  }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    ExpectSharesFollowSpeeds(request, form, EveryWorker(form));
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Heterogeneous, CodeSuite, HeterogeneousCase);

TEST(HeterogeneousCode, LoadsAreExactlyProportionalWhereTheyCanBe) {
  const CodeForm form = MustBuild("heterogeneous", {{2, 2, 4, 4, 8, 8, 8, 12}, 1, 24, 1});
  std::vector<size_t> loads;
  for (const auto& row : form.rows) loads.push_back(row.size());
  EXPECT_EQ(loads, (std::vector<size_t>{2, 2, 4, 4, 8, 8, 8, 12}));
}

TEST(HeterogeneousCode, AWorkerThatHoldsNothingDoesNotUseUpTheStragglersItBears) {
  const CodeForm form = MustBuild("heterogeneous", {{1, 1, 1, 1e-6}, 1, 12, 1});
  EXPECT_TRUE(form.rows[3].empty());
  EXPECT_TRUE(Solve(form, {true, false, true, false}).ok());
  EXPECT_FALSE(Solve(form, {true, false, false, true}).ok());
}

}  // namespace
}  // namespace motley
