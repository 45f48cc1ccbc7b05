// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

struct ReedSolomonCase {
  static constexpr const char* kName = "rs";
  static constexpr double kTolerance = 2e-6;
  static std::vector<CodeRequest> Requests() { return UsualRequests(3); }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    ExpectEqualLoads(request, form);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(ReedSolomon, CodeSuite, ReedSolomonCase);

TEST(ReedSolomonCode, WithoutStragglersItIsReal) {
  const CodeForm form = MustBuild("rs", EqualRequest(5, 0, 12));
  EXPECT_EQ(form.field, Field::kReal);
  EXPECT_EQ(form.largest, 1);
}

TEST(ReedSolomonCode, MoreMissingThanItBearsIsNotDecodable) {
  const CodeForm form = MustBuild("rs", EqualRequest(6, 2, 12));
  for (WorkerId a = 0; a < 6; ++a) {
    for (WorkerId b = 0; b < a; ++b) {
      for (WorkerId c = 0; c < b; ++c) {
        EXPECT_EQ(Solve(form, Without(form, {a, b, c})).code(), StatusCode::kNotDecodable);
        EXPECT_EQ(SolveGeneral(form, Without(form, {a, b, c})).code(), StatusCode::kNotDecodable);
      }
    }
  }
}

}  // namespace
}  // namespace motley
