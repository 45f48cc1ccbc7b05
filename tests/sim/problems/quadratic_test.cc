// SPDX-License-Identifier: Apache-2.0
#include "sim/problems/quadratic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace motley {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

class QuadraticTest : public testing::Test {
 protected:
  std::vector<double> Gradient(StepId step, PartitionId begin, PartitionId end) {
    std::vector<double> gradient(parameters_.size(), 0);
    sums_ = quadratic_.Add(step, parameters_, begin, end, 1, gradient);
    return gradient;
  }
  double Loss(StepId step) {
    Gradient(step, 0, 10);
    return sums_.loss;
  }

  const BatchSchedule schedule_{3, PartitionSizes(100, 10), 16};
  Quadratic quadratic_{3, schedule_};
  std::vector<float> parameters_ = {0.5f, -1.0f, 2.0f, 0.25f, 1.5f};
  Quadratic::Sums sums_;
};

TEST_F(QuadraticTest, ARunOfPartitionsIsTheSumOfEach) {
  for (const StepId step : {0u, 1u, 7u, 1u}) {
    std::vector<double> sum(parameters_.size(), 0);
    double loss = 0;
    double norms = 0;
    for (PartitionId p = 2; p < 9; ++p) {
      const std::vector<double> part = Gradient(step, p, p + 1);
      double square = 0;
      for (size_t j = 0; j < sum.size(); ++j) {
        sum[j] += part[j];
        square += part[j] * part[j];
      }
      loss += sums_.loss;
      norms += std::sqrt(square);
    }
    EXPECT_THAT(Gradient(step, 2, 9), Pointwise(DoubleNear(1e-9), sum));
    EXPECT_NEAR(sums_.loss, loss, 1e-9);
    EXPECT_GE(sums_.norms, norms * (1 - 1e-9));
  }
}

TEST_F(QuadraticTest, TheGradientIsTheSlopeOfTheLoss) {
  const std::vector<double> gradient = Gradient(5, 0, 10);
  for (size_t j = 0; j < parameters_.size(); ++j) {
    constexpr float kStep = 1.0f / 64;
    const float at = parameters_[j];
    parameters_[j] = at + kStep;
    const double above = Loss(5);
    parameters_[j] = at - kStep;
    const double below = Loss(5);
    parameters_[j] = at;
    EXPECT_NEAR((above - below) / (2 * kStep), gradient[j], 1e-6);
  }
}

TEST_F(QuadraticTest, StepsAndPartitionsDiffer) {
  EXPECT_NE(Gradient(1, 0, 10), Gradient(2, 0, 10));
  for (PartitionId p = 1; p < 10; ++p) {
    EXPECT_NE(Gradient(1, 0, 1), Gradient(1, p, p + 1)) << p;
  }
}

TEST_F(QuadraticTest, EverySampleOfTheBatchCounts) {
  // Each sample has the second derivative 1.
  const std::vector<double> before = Gradient(4, 0, 10);
  for (float& value : parameters_) value += 1;
  const std::vector<double> after = Gradient(4, 0, 10);
  for (size_t j = 0; j < before.size(); ++j) EXPECT_NEAR(after[j] - before[j], 16, 1e-9);
}

}  // namespace
}  // namespace motley
