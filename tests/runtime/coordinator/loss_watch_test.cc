// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/loss_watch.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <vector>

namespace motley {
namespace {

// The steps at which a notice was given.
std::vector<StepId> Told(const std::vector<double>& losses, notice::Diverges* last = nullptr) {
  LossWatch watch;
  std::vector<StepId> steps;
  for (StepId step = 0; step < losses.size(); ++step) {
    const auto said = watch.Add(step, losses[step]);
    if (!said) continue;
    steps.push_back(step);
    if (last != nullptr) *last = *said;
  }
  return steps;
}

using Steps = std::vector<StepId>;

TEST(LossWatch, IsQuietWhileLossesGoUpAndDown) {
  EXPECT_EQ(Told({2.3, 2.1, 900, 2400, 2400, 1.9, 2400, 2400, 0.1, 0}), Steps{});
  EXPECT_EQ(Told({0, 1, 2, 3, 4}), Steps{}) << "nothing is many times nothing";
}

TEST(LossWatch, TellsOnceWhenTheLossExplodes) {
  notice::Diverges reported{};
  EXPECT_EQ(Told({2, 3, 2001, 2001, 2500, 1e9, 1e10}, &reported), Steps{6});
  EXPECT_EQ(reported.step, 6u);
  EXPECT_EQ(reported.loss, 1e10);
  EXPECT_EQ(reported.first, 2);
  EXPECT_EQ(reported.times, 100);
}

TEST(LossWatch, TellsWhenItIsNoNumber) {
  notice::Diverges reported{};
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Told({2, 3, infinite, std::numeric_limits<double>::quiet_NaN()}, &reported), Steps{2});
  EXPECT_EQ(reported.step, 2u);
  EXPECT_EQ(reported.loss, std::nullopt);
}

}  // namespace
}  // namespace motley
