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

}  // namespace
}  // namespace motley
