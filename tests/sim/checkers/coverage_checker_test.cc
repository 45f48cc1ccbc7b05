// SPDX-License-Identifier: Apache-2.0
// Each test reports an approximate step as a broken server might, and the checker must notice it.
#include "sim/checkers/coverage_checker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coding/decode/approximate.h"
#include "coding/gradient_code.h"
#include "sim/checkers/step_checker.h"

namespace motley {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

CodeForm Form(const char* code) {
  auto form = BuildCode(
      code, {.speeds = std::vector<double>(4, 1.0), .stragglers = 1, .partitions = 12, .seed = 1});
  EXPECT_TRUE(form.ok()) << form.status().ToString();
  return *form;
}

class CoverageCheckerTest : public testing::Test {
 protected:
  // Opens step 3. Rows 0 and 2, which are copies of each other, arrive.
  void SetUp() override {
    Open(form_);
    Arrive(0);
    Arrive(2);
  }
  void Open(const CodeForm& form) { checker_.OnEvent(event::StepOpened{3, form, Time()}); }
  void Arrive(RowId row) { checker_.OnEvent(event::RowArrived{3, row, row, Time()}); }
  void Tell(const ApproximateSum& sum, StepId step = 3) {
    checker_.OnEvent(event::StepApproximated{step, sum, Time()});
  }
  ApproximateSum Best(std::vector<bool> present) {
    const auto best = Unbiased(form_, SolveApproximate(form_, present).value());
    ApproximateSum sum;
    for (const Complex& a : best.a) sum.weights.push_back(a.real());
    for (const Complex& alpha : best.coverage) sum.coverage.push_back(alpha.real());
    sum.error = best.error;
    return sum;
  }

  const CodeForm form_ = Form("approximate");
  Violations violations_;
  CoverageChecker checker_{violations_};
};

TEST_F(CoverageCheckerTest, WhatIsTrueIsFine) {
  const ApproximateSum sum = Best({true, false, true, false});
  EXPECT_NEAR(sum.error, 1, 1e-9);  // Half of the samples count twice.
  Tell(sum);
  EXPECT_THAT(violations_.list(), IsEmpty());
}

TEST_F(CoverageCheckerTest, ARowThatDidNotComeIsReported) {
  Tell(Best({true, true, false, false}));
  EXPECT_THAT(violations_.list()[0], HasSubstr("row 1 counts in step 3 but did not arrive"));
}

TEST_F(CoverageCheckerTest, CoverageThatIsNotThatOfTheWeightsIsReported) {
  ApproximateSum sum = Best({true, false, true, false});
  std::swap(sum.coverage.front(), sum.coverage.back());
  Tell(sum);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("off its weights")));
}

TEST_F(CoverageCheckerTest, ASumThatIsNotScaledIsReported) {
  ApproximateSum sum = Best({true, false, true, false});
  for (double& a : sum.weights) a /= 2;
  for (double& alpha : sum.coverage) alpha /= 2;
  sum.error = 0.5;
  Tell(sum);
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("the best is 1"), HasSubstr("with mean 0.5")));
}

TEST_F(CoverageCheckerTest, AnErrorThatIsKeptBackIsReported) {
  ApproximateSum sum = Best({true, false, true, false});
  sum.error = 0;
  Tell(sum);
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("with error 0, but the best is 1"),
                                              HasSubstr("error 0 reported")));
}

TEST_F(CoverageCheckerTest, WorseThanTheRowsAllowIsReported) {
  Arrive(1);
  Tell(Best({true, false, true, false}));
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("with error 1, but the best is ")));
}

TEST_F(CoverageCheckerTest, AStepWithoutAnyRowIsReported) {
  Open(form_);
  ApproximateSum sum;
  sum.weights.assign(4, 0);
  sum.coverage.assign(12, 0);
  sum.error = 1;
  Tell(sum);
  EXPECT_THAT(violations_.list()[0], HasSubstr("ended without any row"));
}

TEST_F(CoverageCheckerTest, ACodeThatIsExactMayNotEndSo) {
  const CodeForm exact = Form("repetition");
  Open(exact);
  Arrive(0);
  Tell(Best({true, false, false, false}));
  EXPECT_THAT(violations_.list(),
              ElementsAre(HasSubstr("not the open step of an approximate code")));
}

TEST_F(CoverageCheckerTest, AnExactStepThatIsCalledApproximateIsReported) {
  StepChecker steps(violations_, /*whole_rows=*/true, 3);
  steps.OnEvent(event::StepOpened{3, form_, Time()});
  for (RowId row = 0; row < 4; ++row) steps.OnEvent(event::RowAssigned{3, row, row, Time()});
  steps.OnEvent(event::RowArrived{3, 0, 0, Time()});
  steps.OnEvent(event::RowArrived{3, 1, 1, Time()});
  steps.OnEvent(event::StepApproximated{3, Best({true, true, false, false}), Time()});
  EXPECT_THAT(violations_.list(), ElementsAre(HasSubstr("although its answers decode")));
}

}  // namespace
}  // namespace motley
