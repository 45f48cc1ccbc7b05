// SPDX-License-Identifier: Apache-2.0
// More of KernelsSuite: element-wise kernels, losses and optimizers.
#pragma once

#include <algorithm>

#include "base/signs.h"
#include "tests/conformance/kernels_suite.h"

namespace motley::conformance {

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

TEST_P(KernelsSuite, WideningKeepsWhatIsNotFinite) {
  const std::pair<int, std::vector<uint16_t>> cases[] = {
      {MOTLEY_FP16, {0x7c00, 0xfc00, 0x7c01, 0xfe00, 0x8000}},
      {MOTLEY_BF16, {0x7f80, 0xff80, 0x7f81, 0xffc0, 0x8000}}};
  for (const auto& [format, bits] : cases) {
    const auto y = Store(std::vector<float>(5, 1.0f));
    table().widen(queue_, 5, format, Operand<uint16_t>(*rig_, bits), y);
    const auto got = y.Read();
    EXPECT_EQ(got[0], HUGE_VALF);
    EXPECT_EQ(got[1], -HUGE_VALF);
    EXPECT_TRUE(std::isnan(got[2]) && std::isnan(got[3]));
    EXPECT_TRUE(got[4] == 0 && std::signbit(got[4]));
  }
}

TEST_P(KernelsSuite, SumOfSquaresShowsWhatIsNotFinite) {
  for (const size_t count : {1, 7, 33, 100001}) {
    auto x = Values(count);
    const Operand<double> sum(*rig_, {0.0});
    for (const float bad : {kNan, HUGE_VALF, -HUGE_VALF}) {
      x[random_.Below(count)] = bad;
      table().sum_of_squares(queue_, count, Store(x), sum);
      EXPECT_FALSE(std::isfinite(sum.Read()[0]));
    }
  }
}

// The kernel checks compare sums, in which two wrong signs could cancel out.
TEST_P(KernelsSuite, SketchesHaveTheSignsOfTheirSeed) {
  constexpr size_t kCount = 1100;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    for (const size_t i : {0, 1, 15, 16, 17, 496, 511, 512, 527, 528, 1023, 1024, 1087, 1099}) {
      std::vector<float> x(kCount, 0.0f);
      x[i] = 3;
      const Operand<double> sums(*rig_, {0.0, 0.0});
      table().sketch(queue_, kCount, seed, Store(x), sums);
      EXPECT_EQ(sums.Read()[0], 9);
      EXPECT_EQ(sums.Read()[1], SignOf(SignKeyOf(seed), i) != 0 ? -3 : 3) << i;
    }
  }
}

TEST_P(KernelsSuite, SketchesShowWhatIsNotFinite) {
  for (const size_t count : {1, 33, 100001}) {
    auto x = Values(count);
    const Operand<double> sums(*rig_, {0.0, 0.0});
    for (const float bad : {kNan, HUGE_VALF, -HUGE_VALF}) {
      x[random_.Below(count)] = bad;
      table().sketch(queue_, count, 5, Store(x), sums);
      EXPECT_FALSE(std::isfinite(sums.Read()[0]));
      EXPECT_FALSE(std::isfinite(sums.Read()[1]));
    }
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
    table().softmax_cross_entropy(queue_, 2, 10, labels, nullptr, x, loss);
    EXPECT_TRUE(std::isnan(loss.Read()[0]));
    EXPECT_TRUE(std::isnan(x.Read()[17]));
    EXPECT_FALSE(std::isnan(x.Read()[3]));
  }
  const Operand<double> loss(*rig_, {0.0});
  const auto x = Store({kNan});
  table().logistic_loss(queue_, 1, ones, nullptr, x, loss);
  EXPECT_TRUE(std::isnan(loss.Read()[0]) && std::isnan(x.Read()[0]));
}

}  // namespace motley::conformance
