// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/code_suite.h"

namespace motley {
namespace {

struct CyclicCase {
  static constexpr const char* kName = "cyclic";
  static constexpr double kTolerance = 1e-5;
  static std::vector<CodeRequest> Requests() { return UsualRequests(2); }
  static void ExpectLoads(const CodeRequest& request, const CodeForm& form) {
    ExpectEqualLoads(request, form);
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Cyclic, CodeSuite, CyclicCase);

TEST(CyclicCode, RefusesMoreWorkersThanRandomCodesCanServe) {
  const auto form = BuildCode("cyclic", EqualRequest(513, 1, 513));
  EXPECT_EQ(form.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(form.status().message().find("use rs"), std::string::npos);
}

TEST(CyclicCode, RefusesWhatNotEvenAllAnswersDecode) {
  for (uint32_t n : {64, 128, 192}) {
    const auto form = BuildCode("cyclic", EqualRequest(n, 2, n));
    if (form.ok()) {
      const auto all = Solve(*form, std::vector<bool>(n, true));
      EXPECT_TRUE(all.ok()) << n << ": " << all.status().ToString();
    } else {
      EXPECT_GT(n, 64);
      EXPECT_NE(form.status().message().find("use rs"), std::string::npos);
    }
  }
}

TEST(CyclicCode, AnotherSeedIsAnotherCode) {
  CodeRequest request = EqualRequest(6, 2, 12);
  const CodeForm one = MustBuild("cyclic", request);
  request.seed = 2;
  EXPECT_NE(one.rows[0][0].coefficient, MustBuild("cyclic", request).rows[0][0].coefficient);
}

}  // namespace
}  // namespace motley
