// SPDX-License-Identifier: Apache-2.0
#include "coding/kernels/combine.h"

#include <cmath>
#include <limits>

#include "tests/coding/kernels/every_target.h"

namespace motley {
namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

class Combine : public EveryTarget {
 protected:
  // Includes lengths around the block that stays in the cache.
  static std::vector<size_t> Lengths(Field field) {
    return LengthsWith(field, {2046, 2047, 2048, 2050, 4096, 5001});
  }
};

TEST_P(Combine, AddWeightedEqualsItsReference) {
  for (Field field : {Field::kReal, Field::kComplexPacked}) {
    for (size_t length : Lengths(field)) {
      const Complex weight = Weight(field);
      const std::vector<float> values = Values(length);
      std::vector<float> sum = Values(length);
      std::vector<float> expected = sum;
      AddWeighted(field, weight, values, sum);
      reference::AddWeighted(field, weight, values, expected);
      ExpectClose(sum, expected, 4e-6);
    }
  }
}

TEST_P(Combine, AddWeightedToEachEqualsOneByOne) {
  for (Field field : {Field::kReal, Field::kComplexPacked}) {
    for (size_t length : Lengths(field)) {
      const std::vector<float> values = Values(length);
      std::vector<std::vector<float>> sums;
      std::vector<Complex> weights;
      std::vector<float*> pointers;
      for (int r = 0; r < 3; ++r) {
        weights.push_back(Weight(field));
        sums.push_back(Values(length));
      }
      std::vector<std::vector<float>> expected = sums;
      for (auto& sum : sums) pointers.push_back(sum.data());
      AddWeightedToEach(field, weights, values, pointers);
      for (size_t r = 0; r < 3; ++r) {
        reference::AddWeighted(field, weights[r], values, expected[r]);
        ExpectClose(sums[r], expected[r], 4e-6);
      }
    }
  }
}

TEST_P(Combine, WeightedSumEqualsItsReference) {
  for (Field field : {Field::kReal, Field::kComplexPacked}) {
    for (size_t length : Lengths(field)) {
      std::vector<std::vector<float>> terms;
      std::vector<Complex> weights;
      std::vector<const float*> pointers;
      for (int r = 0; r < 4; ++r) {
        weights.push_back(Weight(field));
        terms.push_back(Values(length));
      }
      for (const auto& term : terms) pointers.push_back(term.data());
      std::vector<float> out(length, kNan);
      std::vector<float> expected(length, kNan);
      WeightedSum(field, weights, pointers, out);
      reference::WeightedSum(field, weights, pointers, expected);
      ExpectClose(out, expected, 4e-6);
    }
  }
}

TEST_P(Combine, WeightedSumMayTakeThePlaceOfItsFirstTerm) {
  for (Field field : {Field::kReal, Field::kComplexPacked}) {
    for (size_t length : Lengths(field)) {
      std::vector<float> first = Values(length);
      const std::vector<float> second = Values(length);
      const std::vector<Complex> weights = {Weight(field), Weight(field)};
      const std::vector<const float*> terms = {first.data(), second.data()};
      std::vector<float> expected(length);
      WeightedSum(field, weights, terms, expected);
      WeightedSum(field, weights, terms, first);
      EXPECT_EQ(first, expected);
    }
  }
}

TEST_P(Combine, NoTermsSumUpToZero) {
  std::vector<float> out(20, kNan);
  WeightedSum(Field::kReal, {}, {}, out);
  EXPECT_EQ(out, std::vector<float>(20, 0));
}

TEST_P(Combine, PackedPairsMultiplyAsComplexNumbers) {
  std::vector<float> values;
  std::vector<float> sum;
  for (int pair = 0; pair < 9; ++pair) {
    values.insert(values.end(), {3, 4});
    sum.insert(sum.end(), {10, 20});
  }
  AddWeighted(Field::kComplexPacked, Complex(1, 2), values, sum);  // (1 + 2i)(3 + 4i) = -5 + 10i.
  for (size_t t = 0; t < sum.size(); t += 2) {
    EXPECT_EQ(sum[t], 5);
    EXPECT_EQ(sum[t + 1], 30);
  }
}

TEST_P(Combine, SumOfSquaresIsExactInDoubleAndShowsWhatIsNotFinite) {
  for (size_t length = 0; length < 70; ++length) {
    std::vector<float> values = Values(length);
    const double expected = reference::SumOfSquares(values);
    EXPECT_NEAR(SumOfSquares(values), expected, 1e-13 * expected);
    for (size_t t = 0; t < length; ++t) {
      const float kept = values[t];
      values[t] = t % 2 == 0 ? kNan : -kInf;
      EXPECT_FALSE(std::isfinite(SumOfSquares(values)));
      values[t] = kept;
    }
  }
  EXPECT_TRUE(std::isfinite(SumOfSquares(std::vector<float>(100, 3e38F))));
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, Combine,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), TargetOf);

}  // namespace
}  // namespace motley
