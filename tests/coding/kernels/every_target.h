// SPDX-License-Identifier: Apache-2.0
// Runs vector kernels once per instruction set that this processor has.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "coding/code_form.h"

namespace motley {

class EveryTarget : public ::testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { Choose(GetParam()); }
  void TearDown() override { Choose(0); }

  static void Choose(int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  std::vector<float> Values(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(random_.Normal());
    return values;
  }

  Complex Weight(Field field) {
    const double re = random_.Normal();
    const double im = random_.Normal();
    return field == Field::kReal ? Complex(re) : Complex(re, im);
  }

  std::vector<Complex> Weights(Field field, size_t count) {
    std::vector<Complex> weights;
    while (weights.size() < count) weights.push_back(Weight(field));
    return weights;
  }

  // Lengths around those of vectors, and those in `more`; whole pairs if packed.
  static std::vector<size_t> LengthsWith(Field field, std::initializer_list<size_t> more) {
    std::vector<size_t> lengths;
    for (size_t length = 0; length < 70; ++length) lengths.push_back(length);
    lengths.insert(lengths.end(), more);
    if (field == Field::kComplexPacked) {
      std::erase_if(lengths, [](size_t length) { return length % 2 != 0; });
    }
    return lengths;
  }

  static void ExpectClose(const std::vector<float>& a, const std::vector<float>& b,
                          double tolerance) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t t = 0; t < a.size(); ++t) ASSERT_NEAR(a[t], b[t], tolerance) << t;
  }

  Random random_{1, Stream::kTest};
};

inline std::string TargetOf(const ::testing::TestParamInfo<int64_t>& target) {
  return hwy::TargetName(target.param);
}

}  // namespace motley
