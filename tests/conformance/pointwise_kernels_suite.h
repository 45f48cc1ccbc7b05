// SPDX-License-Identifier: Apache-2.0
// The rest of KernelsSuite: kernels that go over values one by one, losses and optimizers.
#pragma once

#include <algorithm>

#include "tests/conformance/kernels_suite.h"

namespace motley::conformance {

inline constexpr size_t kCounts[] = {0, 1, 7, 33, 100001};

TEST_P(KernelsSuite, ReluKeepsPositiveValuesAndNan) {
  const auto x = Store({-1.0f, 0.0f, 2.0f, kNan, -1e-38f});
  table().relu(queue_, 5, x);
  const auto got = x.Read();
  EXPECT_EQ(got[0], 0.0f);
  EXPECT_EQ(got[1], 0.0f);
  EXPECT_EQ(got[2], 2.0f);
  EXPECT_TRUE(std::isnan(got[3]));
  EXPECT_EQ(got[4], 0.0f);
}

TEST_P(KernelsSuite, ElementwiseKernelsMatchReferenceForEveryCount) {
  for (const size_t count : kCounts) {
    auto x = Values(count);
    auto y = Values(count);
    const auto x_stored = Store(x);
    const auto y_stored = Store(y);
    table().axpy(queue_, count, 0.75f, x_stored, y_stored);
    table().relu(queue_, count, x_stored);
    table().relu_backward(queue_, count, x_stored, y_stored);
    table().scale(queue_, count, 2, y_stored);
    const auto activation = x_stored.Read();
    const auto got = y_stored.Read();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_EQ(activation[i], std::max(x[i], 0.0f));
      ASSERT_NEAR(got[i], x[i] > 0 ? 2 * (y[i] + 0.75 * x[i]) : 0.0, 1e-6);
    }
    table().fill(queue_, count, -3.5f, y_stored);
    EXPECT_EQ(y_stored.Read(), std::vector<float>(count, -3.5f));
  }
}

TEST_P(KernelsSuite, SumOfSquaresIsPreciseAndShowsWhatIsNotFinite) {
  for (const size_t count : kCounts) {
    auto x = Values(count, 0, 1e15);
    double want = 0;
    for (const float value : x) want += double{value} * value;
    const Operand<double> sum(*rig_, {kNan});
    table().sum_of_squares(queue_, count, Store(x), sum);
    EXPECT_NEAR(sum.Read()[0], want, 1e-12 * want);
    for (const float bad : {kNan, HUGE_VALF, -HUGE_VALF}) {
      if (count == 0) continue;
      x[random_.Below(count)] = bad;
      table().sum_of_squares(queue_, count, Store(x), sum);
      EXPECT_FALSE(std::isfinite(sum.Read()[0]));
    }
  }
}

TEST_P(KernelsSuite, SoftmaxMatchesReferenceUpToExtremeOutputs) {
  for (const auto& [rows, columns] : std::vector<std::pair<size_t, size_t>>{
           {0, 10}, {1, 1}, {3, 2}, {1000, 10}, {5, 1000}, {17, 33}}) {
    for (const double range : {1.0, 1e4}) {
      const auto x = Values(rows * columns, -range, range);
      std::vector<float> label(rows);
      for (float& l : label) l = static_cast<float>(random_.Below(columns));
      const auto x_stored = Store(x);
      const Operand<double> loss(*rig_, {100.0});
      table().softmax_cross_entropy(queue_, rows, columns, Store(label), x_stored, loss);
      const auto got = x_stored.Read();
      double want_loss = 100;
      for (size_t r = 0; r < rows; ++r) {
        const float* row = x.data() + r * columns;
        const double largest = *std::max_element(row, row + columns);
        double sum = 0;
        for (size_t c = 0; c < columns; ++c) sum += std::exp(row[c] - largest);
        const auto l = static_cast<size_t>(label[r]);
        want_loss += std::log(sum) - (row[l] - largest);
        for (size_t c = 0; c < columns; ++c) {
          const double want = std::exp(row[c] - largest) / sum - (c == l ? 1 : 0);
          ASSERT_NEAR(got[r * columns + c], want, 3e-7);
        }
      }
      EXPECT_NEAR(loss.Read()[0], want_loss, 1e-6 * want_loss);
    }
  }
}

TEST_P(KernelsSuite, LogisticLossMatchesReferenceUpToExtremeOutputs) {
  const std::vector<float> x = {0, 1, -1, 30, -30, 1e4f, -1e4f, 1e4f, -1e4f, 0.5f};
  const std::vector<float> label = {1, 1, 1, 0, 1, 1, 1, 0, 0, -1};
  const auto x_stored = Store(x);
  const Operand<double> loss(*rig_, {1.0});
  table().logistic_loss(queue_, x.size(), Store(label), x_stored, loss);
  const auto got = x_stored.Read();
  double want_loss = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    const double y = label[i] > 0.5f ? 1 : -1;
    const double margin = y * x[i];
    want_loss += margin < 0 ? std::log1p(std::exp(margin)) - margin : std::log1p(std::exp(-margin));
    const double want = -y / (1 + std::exp(margin));
    EXPECT_NEAR(got[i], want, 1e-7 + 1e-6 * std::abs(want)) << "x " << x[i];
  }
  EXPECT_NEAR(loss.Read()[0], want_loss, 1e-9 * want_loss);
}

TEST_P(KernelsSuite, ScalarLossesAddUpOverManyRows) {
  for (const size_t rows : {size_t{0}, size_t{1}, size_t{5000}}) {
    const auto x = Values(rows, -5, 5);
    const auto label = Values(rows);
    double squared = 0;
    double logistic = 0;
    for (size_t i = 0; i < rows; ++i) {
      squared += 0.5 * (double{x[i]} - label[i]) * (double{x[i]} - label[i]);
      logistic += std::log1p(std::exp((label[i] > 0.5f ? -1.0 : 1.0) * x[i]));
    }
    const auto x_stored = Store(x);
    const Operand<double> loss(*rig_, {0.0});
    table().squared_loss(queue_, rows, Store(label), x_stored, loss);
    EXPECT_NEAR(loss.Read()[0], squared, 1e-6 * squared);
    const auto got = x_stored.Read();
    for (size_t i = 0; i < rows; ++i) ASSERT_EQ(got[i], x[i] - label[i]);
    const Operand<double> other(*rig_, {0.0});
    table().logistic_loss(queue_, rows, Store(label), Store(x), other);
    EXPECT_NEAR(other.Read()[0], logistic, 1e-9 * logistic);
  }
}

TEST_P(KernelsSuite, NanInAnInputReachesTheOutput) {
  const auto poisoned = Store({0.5f, kNan});
  const auto ones = Store({1.0f, 1.0f});
  const auto c = Store({0.0f, 0.0f, 0.0f, 0.0f});
  table().gemm(queue_, 0, 0, 2, 2, 1, 1, poisoned, ones, 0, c);
  EXPECT_TRUE(std::isnan(c.Read()[2]) && std::isnan(c.Read()[3]));
  EXPECT_EQ(c.Read()[0], 0.5f);
  for (const float bad : {kNan, HUGE_VALF}) {
    std::vector<float> outputs(20, 0.0f);
    outputs[17] = bad;
    const auto x = Store(outputs);
    const auto labels = Store({0.0f, 1.0f});
    const Operand<double> loss(*rig_, {0.0});
    table().softmax_cross_entropy(queue_, 2, 10, labels, x, loss);
    EXPECT_TRUE(std::isnan(loss.Read()[0]));
    EXPECT_TRUE(std::isnan(x.Read()[17]));
    EXPECT_FALSE(std::isnan(x.Read()[3]));
  }
  const Operand<double> loss(*rig_, {0.0});
  const auto x = Store({kNan});
  table().logistic_loss(queue_, 1, ones, x, loss);
  EXPECT_TRUE(std::isnan(loss.Read()[0]) && std::isnan(x.Read()[0]));
}

TEST_P(KernelsSuite, OptimizersMatchReferenceOverSeveralSteps) {
  constexpr double kLr = 0.05f, kMu = 0.9f, kBeta1 = 0.9f, kBeta2 = 0.999f, kEpsilon = 1e-8f;
  for (const size_t count : kCounts) {
    const auto start = Values(count);
    const std::vector<float> zero(count, 0.0f);
    const auto sgd = Store(start), heavy = Store(start), nesterov = Store(start);
    const auto adam = Store(start);
    const auto heavy_v = Store(zero), nesterov_v = Store(zero), m = Store(zero), v = Store(zero);
    struct Reference {
      double sgd, heavy, nesterov, adam, velocity = 0, m = 0, v = 0;
    };
    std::vector<Reference> want;
    for (const float w : start) want.push_back({w, w, w, w});
    for (uint64_t t = 1; t <= 4; ++t) {
      const auto g = Values(count);
      const auto g_stored = Store(g);
      table().sgd(queue_, count, kLr, g_stored, sgd);
      table().momentum(queue_, count, kLr, kMu, 0, g_stored, heavy_v, heavy);
      table().momentum(queue_, count, kLr, kMu, 1, g_stored, nesterov_v, nesterov);
      table().adam(queue_, count, kLr, kBeta1, kBeta2, kEpsilon, t, g_stored, m, v, adam);
      for (size_t i = 0; i < count; ++i) {
        Reference& r = want[i];
        r.sgd -= kLr * g[i];
        r.velocity = kMu * r.velocity + g[i];
        r.heavy -= kLr * r.velocity;
        r.nesterov -= kLr * (g[i] + kMu * r.velocity);
        r.m = kBeta1 * r.m + (1 - kBeta1) * g[i];
        r.v = kBeta2 * r.v + (1 - kBeta2) * g[i] * g[i];
        r.adam -= kLr * (r.m / (1 - std::pow(kBeta1, t))) /
                  (std::sqrt(r.v / (1 - std::pow(kBeta2, t))) + kEpsilon);
      }
    }
    const auto got_sgd = sgd.Read(), got_heavy = heavy.Read(), got_nesterov = nesterov.Read();
    const auto got_adam = adam.Read();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_NEAR(got_sgd[i], want[i].sgd, 1e-6);
      ASSERT_NEAR(got_heavy[i], want[i].heavy, 1e-6);
      ASSERT_NEAR(got_nesterov[i], want[i].nesterov, 1e-6);
      ASSERT_NEAR(got_adam[i], want[i].adam, 2e-6);
    }
  }
}

}  // namespace motley::conformance
