// SPDX-License-Identifier: Apache-2.0
#include "coding/kernels/checked_add.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "coding/kernels/combine.h"
#include "coding/kernels/sketch.h"
#include "tests/coding/kernels/every_target.h"

namespace motley {
namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kNoLimit = std::numeric_limits<double>::max();

class CheckedAdd : public EveryTarget {
 protected:
  // The sums and energy of one call, `offset` floats after an aligned address.
  struct Target {
    Target(size_t length, size_t offset, const std::vector<float>& start) : start_at(offset) {
      for (int r = 0; r < 3; ++r) sums.push_back(start);
      energy.assign(start.begin(), start.begin() + static_cast<ptrdiff_t>(offset + length / 2));
      for (auto& sum : sums) pointers.push_back(sum.data() + offset);
    }
    CheckedSums Into(Field field, std::span<const Complex> weights, bool overwrite) {
      const bool packed = field == Field::kComplexPacked;
      return {field, weights, pointers, packed ? energy.data() + start_at : nullptr, overwrite};
    }
    size_t start_at;
    std::vector<std::vector<float>> sums;
    std::vector<float> energy;
    std::vector<float*> pointers;
  };

  // Includes lengths around the block that is checked at once.
  static std::vector<size_t> Lengths(Field field) {
    return LengthsWith(field, {510, 511, 512, 513, 514, 1024, 1990, 2049});
  }
};

TEST_P(CheckedAdd, EqualsItsReferenceAtEveryLengthAndAlignment) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const bool overwrite : {false, true}) {
      for (const size_t length : Lengths(field)) {
        const size_t offset = length % 5;
        const std::vector<Complex> weights = Weights(field, 3);
        const std::vector<float> values = Values(offset + length);
        const std::span<const float> part = std::span(values).subspan(offset);
        const std::vector<float> start = Values(offset + length);
        Target got(length, offset, start);
        Target wanted(length, offset, start);
        const double squares = AddChecked(got.Into(field, weights, overwrite), part, kNoLimit);
        const double expected =
            reference::AddChecked(wanted.Into(field, weights, overwrite), part, kNoLimit);
        EXPECT_NEAR(squares, expected, 1e-13 * expected);
        for (size_t r = 0; r < 3; ++r) ExpectClose(got.sums[r], wanted.sums[r], 1e-5);
        ExpectClose(got.energy, wanted.energy, 1e-5);
      }
    }
  }
}

// Looking ahead to the next block changes no bit of the present one.
TEST_P(CheckedAdd, EqualsCheckingAndAddingApart) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const size_t length : {512, 1024, 1536, 1990, 2560}) {
      const std::vector<Complex> weights = Weights(field, 3);
      const std::vector<float> values = Values(length);
      const std::vector<float> start = Values(length);
      Target got(length, 0, start);
      Target wanted(length, 0, start);
      const double squares = AddChecked(got.Into(field, weights, false), values, kNoLimit);
      double expected = 0;
      for (size_t begin = 0; begin < length; begin += kCheckedBlock) {
        const size_t size = std::min(kCheckedBlock, length - begin);
        expected += SumOfSquares(std::span(values).subspan(begin, size));
      }
      EXPECT_EQ(squares, expected);
      AddWeightedToEach(field, weights, values, wanted.pointers);
      for (size_t r = 0; r < 3; ++r) {
        EXPECT_EQ(std::memcmp(got.sums[r].data(), wanted.sums[r].data(), length * sizeof(float)),
                  0);
      }
    }
  }
}

// The projection changes no bit of other results, and equals that of a separate pass.
TEST_P(CheckedAdd, ProjectsInTheSamePass) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const size_t length : Lengths(field)) {
      const std::vector<Complex> weights = Weights(field, 3);
      const std::vector<float> values = Values(length);
      const std::vector<float> start = Values(length);
      Target got(length, 0, start);
      Target wanted(length, 0, start);
      CheckedProjection projection{SignKeyOf(length), 3 * kSignBlock};
      CheckedSums into = got.Into(field, weights, false);
      into.projection = &projection;
      const double squares = AddChecked(into, values, kNoLimit);
      EXPECT_NEAR(squares, AddChecked(wanted.Into(field, weights, false), values, kNoLimit),
                  1e-14 * squares);
      for (size_t r = 0; r < 3; ++r) EXPECT_EQ(got.sums[r], wanted.sums[r]);
      EXPECT_EQ(got.energy, wanted.energy);
      EXPECT_EQ(projection.sum, SketchOf(values, SignKeyOf(length), 3 * kSignBlock).projection);
    }
  }
}

TEST_P(CheckedAdd, SketchesEqualTheirReference) {
  for (const size_t length : Lengths(Field::kReal)) {
    const std::vector<float> values = Values(length + 3);
    const std::span<const float> part = std::span(values).subspan(length % 4);
    const SignKey key = SignKeyOf(77 + length);
    const Sketch got = SketchOf(part, key, kSignBlock);
    const Sketch wanted = reference::SketchOf(part, key, kSignBlock);
    EXPECT_NEAR(got.squares, wanted.squares, 1e-13 * wanted.squares);
    EXPECT_NEAR(got.projection, wanted.projection, 1e-12 * std::sqrt(wanted.squares));
    // Comparing sums is not enough, because two wrong signs could cancel out.
    for (size_t i = 0; i < part.size(); i += 7) {
      std::vector<float> one(part.size(), 0.0F);
      one[i] = 2;
      EXPECT_EQ(SketchOf(one, key).projection, SignOf(key, i) != 0 ? -2 : 2) << i;
    }
  }
}

TEST_P(CheckedAdd, ChecksWhatIsAddedToNothing) {
  const std::vector<float> values(1400, 1);
  const CheckedSums nothing{};
  EXPECT_EQ(AddChecked(nothing, values, kNoLimit), 1400);
  EXPECT_EQ(AddChecked(nothing, values, 600), 1024);
}

TEST_P(CheckedAdd, OverwrittenSumsAreNotRead) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    const std::vector<float> values = Values(700);
    Target target(700, 0, std::vector<float>(700, kNan));
    AddChecked(target.Into(field, Weights(field, 3), true), values, kNoLimit);
    for (const auto& sum : target.sums) {
      for (const float value : sum) ASSERT_TRUE(std::isfinite(value));
    }
    for (size_t t = 0; field == Field::kComplexPacked && t < 350; ++t) {
      ASSERT_TRUE(std::isfinite(target.energy[t]));
    }
  }
}

TEST_P(CheckedAdd, ValuesThatAreNotFiniteAreNotAddedNorAreLaterOnes) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const float bad : {kNan, kInf, -kInf}) {
      for (const size_t place : {0u, 17u, 511u, 512u, 1023u, 1300u, 1399u}) {
        std::vector<float> values = Values(1400);
        values[place] = bad;
        const std::vector<float> start = Values(1400);
        Target target(1400, 0, start);
        const double squares =
            AddChecked(target.Into(field, Weights(field, 3), false), values, kNoLimit);
        EXPECT_FALSE(squares <= kNoLimit);
        const size_t checked = place / kCheckedBlock * kCheckedBlock;
        for (const auto& sum : target.sums) {
          EXPECT_EQ(std::memcmp(sum.data() + checked, start.data() + checked,
                                (start.size() - checked) * sizeof(float)),
                    0);
          for (const float value : sum) ASSERT_TRUE(std::isfinite(value));
          EXPECT_EQ(checked > 0, sum[0] != start[0]);
        }
      }
    }
  }
}

TEST_P(CheckedAdd, StopsAtTheBlockThatGoesBeyondTheLimit) {
  const std::vector<float> values(1400, 1);
  const std::vector<float> start(1400, 0);
  const std::vector<Complex> weights(3, Complex(2));
  Target target(1400, 0, start);
  EXPECT_EQ(AddChecked(target.Into(Field::kReal, weights, false), values, 1023.5), 1024);
  EXPECT_EQ(target.sums[0][511], 2);
  EXPECT_EQ(target.sums[0][512], 0);
  EXPECT_EQ(AddChecked(target.Into(Field::kReal, weights, false), values, 1400), 1400);
  EXPECT_EQ(target.sums[2][1399], 2);
  AddChecked(target.Into(Field::kReal, weights, false), values, std::nan(""));
  EXPECT_EQ(target.sums[0][511], 4);
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, CheckedAdd,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), TargetOf);

}  // namespace
}  // namespace motley
