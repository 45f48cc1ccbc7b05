// SPDX-License-Identifier: Apache-2.0
#include "coding/code_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "tests/coding/coded_job.h"

namespace motley {
namespace {

using ::testing::HasSubstr;

struct Damage {
  const char* code;
  std::function<void(CodeForm&)> change;
  const char* complaint;
};

TEST(CodeForm, ValidateNamesWhatIsWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Damage> damages = {
      {"rs", [](CodeForm& f) { f.workers = 0; }, "no workers"},
      {"rs", [](CodeForm& f) { f.stragglers = 5; }, "5 stragglers among 5"},
      {"rs", [](CodeForm& f) { f.rows.pop_back(); }, "stated sizes"},
      {"rs", [](CodeForm& f) { f.c.pop_back(); }, "stated sizes"},
      {"rs", [](CodeForm& f) { f.v.clear(); }, "stated sizes"},
      {"rs", [](CodeForm& f) { f.nodes.pop_back(); }, "one node per worker"},
      {"rs", [](CodeForm& f) { f.nodes[1] *= Complex(0, 1); }, "powers of node 1"},
      {"rs", [](CodeForm& f) { f.rows[2][1].partition = 10; }, "row 2: partition 10 of 10"},
      {"rs", [&](CodeForm& f) { f.rows[1][0].coefficient = nan; }, "row 1: a coefficient is not"},
      {"rs", [](CodeForm& f) { f.field = Field::kReal; }, "a complex coefficient"},
      {"rs", [](CodeForm& f) { std::swap(f.rows[3][0], f.rows[3][1]); }, "row 3 is not sorted"},
      {"rs", [](CodeForm& f) { f.rows[0][0].coefficient += 1e-6; }, "C B = v 1^T"},
      {"cyclic", [](CodeForm& f) { f.c[0] += 1e-6; }, "C B = v 1^T"},
      {"none", [](CodeForm& f) { f.rows[4].clear(); }, "no row holds partition 8"},
      {"none", [](CodeForm& f) { f.rows[4][0].coefficient = 2; }, "other than 1"},
  };
  for (const Damage& damage : damages) {
    CodeForm form = MustBuild(damage.code, EqualRequest(5, damage.code[0] == 'n' ? 0 : 2, 10));
    ASSERT_TRUE(Validate(form).ok());
    damage.change(form);
    const Status status = Validate(form);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << damage.complaint;
    EXPECT_THAT(status.ToString(), HasSubstr(damage.complaint));
  }
}

TEST(CodeForm, ResidualIsTheLargestDistanceFromOne) {
  const CodeForm form = MustBuild("none", EqualRequest(3, 0, 6));
  EXPECT_EQ(DecodingResidual(form, std::vector<Complex>{1, 1, 1}), 0);
  EXPECT_EQ(DecodingResidual(form, std::vector<Complex>{1, 0.5, 3}), 2);
  EXPECT_EQ(DecodingResidual(form, std::vector<Complex>{1, Complex(1, 0.25), 1}), 0.25);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(DecodingResidual(form, std::vector<Complex>{nan, 1, 1})));
}

}  // namespace
}  // namespace motley
