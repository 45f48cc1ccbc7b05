// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/loss_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace motley {
namespace {

using testing::HasSubstr;

// The steps at which something was said.
std::vector<StepId> Told(const std::vector<double>& losses, std::string* text = nullptr) {
  LossWatch watch;
  std::vector<StepId> steps;
  for (StepId step = 0; step < losses.size(); ++step) {
    const auto said = watch.Add(step, losses[step]);
    if (!said) continue;
    steps.push_back(step);
    if (text != nullptr) *text = *said;
  }
  return steps;
}

using Steps = std::vector<StepId>;

TEST(LossWatch, IsQuietWhileLossesGoUpAndDown) {
  EXPECT_EQ(Told({2.3, 2.1, 900, 2400, 2400, 1.9, 2400, 2400, 0.1, 0}), Steps{});
  EXPECT_EQ(Told({0, 1, 2, 3, 4}), Steps{}) << "nothing is many times nothing";
}

TEST(LossWatch, TellsOnceWhenTheLossExplodes) {
  std::string text;
  EXPECT_EQ(Told({2, 3, 2001, 2001, 2500, 1e9, 1e10}, &text), Steps{6});
  EXPECT_THAT(text, HasSubstr("step 6: the loss is 1e+10, more than 100 times the 2 of the first"));
  EXPECT_THAT(text, HasSubstr("`learning_rate`"));
}

// Of standardised targets, losses mean nothing to whoever reads them.
TEST(LossWatch, SpeaksInTheUnitsOfTheData) {
  LossWatch watch(1e4);
  std::optional<std::string> said;
  for (StepId step = 0; !said; ++step) said = watch.Add(step, step == 0 ? 0.5 : 700);
  EXPECT_THAT(*said, HasSubstr("the loss is 7e+06, more than 100 times the 5e+03 of the first"));
}

TEST(LossWatch, TellsWhenItIsNoNumber) {
  std::string text;
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Told({2, 3, infinite, std::numeric_limits<double>::quiet_NaN()}, &text), Steps{2});
  EXPECT_THAT(text, HasSubstr("step 2: the loss is not a number any more"));
}

}  // namespace
}  // namespace motley
