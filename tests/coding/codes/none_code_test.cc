// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

struct NoneCase {
  static constexpr const char* kName = "none";
  static constexpr double kTolerance = 1e-6;
  static std::vector<CodeRequest> Requests() { return UsualRequests(0); }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    ExpectSharesFollowSpeeds(request, form, EveryWorker(form));
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(None, CodeSuite, NoneCase);

TEST(NoneCode, RefusesStragglersAndSaysWhatWouldWork) {
  const auto form = BuildCode("none", EqualRequest(4, 1, 16));
  EXPECT_EQ(form.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(form.status().message().find("repetition"), std::string::npos);
}

TEST(NoneCode, AWorkerTooSlowForOnePartitionIsNotWaitedFor) {
  const CodeForm form = MustBuild("none", {{1, 1, 1e-6}, 0, 8, 1});
  EXPECT_TRUE(form.rows[2].empty());
  EXPECT_TRUE(Validate(form).ok());
  EXPECT_TRUE(Solve(form, {true, true, false}).ok());
  EXPECT_EQ(Solve(form, {true, false, true}).code(), StatusCode::kNotDecodable);
}

}  // namespace
}  // namespace motley
