// SPDX-License-Identifier: Apache-2.0
#include "coding/kernels/checked_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "coding/decode/noise_floor.h"
#include "coding/kernels/combine.h"
#include "coding/kernels/sketch.h"
#include "tests/coding/kernels/every_target.h"

namespace motley {
namespace {

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kNoLimit = std::numeric_limits<double>::max();
constexpr double kNoise = 0.7;

class CheckedSum : public EveryTarget {
 protected:
  // An answer and two sums, `offset` floats after aligned addresses, and the parts made of them.
  // The first part has full length and may replace the first sum; the second is `shorter` floats
  // shorter.
  struct Rig {
    Rig(CheckedSum& test, Field f, size_t length, size_t offset, size_t shorter)
        : field(f),
          weights{test.Weights(f, 3), test.Weights(f, 2)},
          answer(test.Values(offset + length)),
          sums{test.Values(offset + length), test.Values(offset + length)},
          energy(offset + length / 2),
          outs{std::vector<float>(length, 9), std::vector<float>(length - shorter, 9)},
          start_at(offset) {
      for (float& value : energy) value = std::abs(static_cast<float>(test.random_.Normal()));
    }

    std::span<const float> Answer() const { return std::span(answer).subspan(start_at); }
    bool packed() const { return field == Field::kComplexPacked; }

    // The argument of SumChecked, valid until the next call.
    CheckedParts Parts(bool in_place) {
      terms = {sums[0].data() + start_at, sums[1].data() + start_at, answer.data() + start_at};
      const std::span<float> place = std::span(sums[0]).subspan(start_at);
      parts = {{weights[0], terms, in_place ? place : outs[0]},
               {weights[1], std::span(terms).last(2), outs[1]}};
      if (in_place) parts.pop_back();
      return {.field = field,
              .parts = parts,
              .noise = packed() ? kNoise : 0,
              .energy = packed() ? energy.data() + start_at : nullptr};
    }

    // A part computed in separate passes: summed, then compared with the noise.
    std::vector<float> Apart(const CheckedParts& into, size_t part) const {
      const SummedPart& which = into.parts[part];
      std::vector<float> out(which.out.size());
      WeightedSum(field, which.weights, which.terms, out);
      if (!packed()) return out;
      std::vector<float> all(into.energy, into.energy + Answer().size() / 2);
      AddChecked({.field = field, .weights = {}, .sums = {}, .energy = all.data()}, Answer(),
                 kNoLimit);
      reference::ZeroBelow(kNoise, std::span(all).first(out.size() / 2), out);
      return out;
    }

    Field field;
    std::vector<Complex> weights[2];
    std::vector<float> answer;
    std::vector<float> sums[2];
    std::vector<float> energy;
    std::vector<float> outs[2];
    size_t start_at;
    std::vector<const float*> terms;
    std::vector<SummedPart> parts;
  };

  static std::vector<size_t> Lengths(Field field) {
    return LengthsWith(field, {510, 511, 512, 513, 514, 1024, 1536, 1990, 2049});
  }
};

TEST_P(CheckedSum, EqualsCheckingAndSummingApart) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const size_t length : Lengths(field)) {
      for (const size_t shorter : {0, 2, 40, 600}) {
        if (shorter > length) continue;
        Rig rig(*this, field, length, length % 5, shorter);
        const CheckedParts into = rig.Parts(false);
        const std::vector<float> wanted[] = {rig.Apart(into, 0), rig.Apart(into, 1)};
        const double squares = SumChecked(into, rig.Answer(), kNoLimit);
        EXPECT_EQ(squares, AddChecked({}, rig.Answer(), kNoLimit));
        EXPECT_EQ(rig.outs[0], wanted[0]) << length;
        EXPECT_EQ(rig.outs[1], wanted[1]) << length << " " << shorter;
        if (!rig.packed() || length < 60) continue;
        EXPECT_GT(std::count(rig.outs[0].begin(), rig.outs[0].end(), 0), 0);
        EXPECT_LT(std::count(rig.outs[0].begin(), rig.outs[0].end(), 0), length);
      }
    }
  }
}

TEST_P(CheckedSum, MayStandWhereTheFirstTermDid) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const size_t length : Lengths(field)) {
      Rig rig(*this, field, length, 0, 0);
      const CheckedParts into = rig.Parts(true);
      const std::vector<float> wanted = rig.Apart(into, 0);
      SumChecked(into, rig.Answer(), kNoLimit);
      EXPECT_EQ(rig.sums[0], wanted) << length;
    }
  }
}

TEST_P(CheckedSum, ProjectsInTheSamePass) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const size_t length : Lengths(field)) {
      Rig rig(*this, field, length, 0, length / 2 / 2 * 2);
      CheckedParts into = rig.Parts(false);
      const std::vector<float> wanted = rig.Apart(into, 0);
      CheckedProjection projection{SignKeyOf(length), 3 * kSignBlock};
      into.projection = &projection;
      const double squares = SumChecked(into, rig.Answer(), kNoLimit);
      const Sketch sketch = SketchOf(rig.Answer(), SignKeyOf(length), 3 * kSignBlock);
      EXPECT_NEAR(squares, sketch.squares, 1e-14 * squares);
      EXPECT_EQ(projection.sum, sketch.projection);
      EXPECT_EQ(rig.outs[0], wanted);
    }
  }
}

// The answer is the only one: no energy is read.
TEST_P(CheckedSum, WithoutEnergyTheAnswerIsMeasuredByItself) {
  const std::vector<float> answer = {3, 4, 0.1F, 1, 0, 0, 5, 5, 3, 4, 0.1F, 1, 0, 0, 5, 5, 3, 0.1F};
  const std::vector<float> wanted = {3, 4, 0, 1, 0, 0, 5, 5, 3, 4, 0, 1, 0, 0, 5, 5, 3, 0};
  const Complex one(1);
  const float* const term = answer.data();
  std::vector<float> out(answer.size(), kNan);
  const SummedPart part{{&one, 1}, {&term, 1}, out};
  SumChecked({.field = Field::kComplexPacked, .parts = {&part, 1}, .noise = 0.5}, answer, kNoLimit);
  EXPECT_EQ(out, wanted);
}

// Without noise, values with underflowing squares must stay.
TEST_P(CheckedSum, TheSmallestValuesStayWhereThereIsNoEnergy) {
  for (const size_t length : {2, 18, 64}) {
    const std::vector<float> answer(length, 0);
    const std::vector<float> energy(length / 2, 0);
    const std::vector<float> sums(length, 1e-30F);
    const Complex one(1);
    const float* const term = sums.data();
    std::vector<float> out(length);
    const SummedPart part{{&one, 1}, {&term, 1}, out};
    SumChecked({Field::kComplexPacked, {&part, 1}, 0.5, energy.data()}, answer, kNoLimit);
    EXPECT_EQ(out, sums);
  }
}

TEST_P(CheckedSum, TakesAnyNumberOfParts) {
  const std::vector<float> answer = Values(700);
  const float* const term = answer.data();
  for (size_t count = 0; count < 7; ++count) {
    const std::vector<Complex> weights = Weights(Field::kReal, count);
    std::vector<std::vector<float>> outs(count, std::vector<float>(answer.size()));
    std::vector<SummedPart> parts;
    for (size_t i = 0; i < count; ++i) parts.push_back({{&weights[i], 1}, {&term, 1}, outs[i]});
    EXPECT_EQ(SumChecked({Field::kReal, parts}, answer, kNoLimit),
              AddChecked({}, answer, kNoLimit));
    for (size_t i = 0; i < count; ++i) {
      const auto weight = static_cast<float>(weights[i].real());
      for (size_t t = 0; t < answer.size(); ++t) ASSERT_EQ(outs[i][t], weight * answer[t]) << i;
    }
  }
}

TEST_P(CheckedSum, ValuesThatAreNotFiniteReachNoSumNorDoLaterOnes) {
  for (const Field field : {Field::kReal, Field::kComplexPacked}) {
    for (const float bad : {kNan, kInf, -kInf}) {
      for (const size_t place : {0u, 17u, 511u, 512u, 1023u, 1300u, 1399u}) {
        Rig rig(*this, field, 1400, 0, 0);
        rig.answer[place] = bad;
        EXPECT_FALSE(SumChecked(rig.Parts(false), rig.Answer(), kNoLimit) <= kNoLimit);
        const size_t checked = place / kCheckedBlock * kCheckedBlock;
        for (const auto& out : rig.outs) {
          for (size_t t = 0; t < 1400; ++t) {
            ASSERT_TRUE(std::isfinite(out[t]));
            ASSERT_EQ(t >= checked, out[t] == 9) << t;
          }
        }
      }
    }
  }
}

TEST_P(CheckedSum, StopsAtTheBlockThatGoesBeyondTheLimit) {
  Rig rig(*this, Field::kReal, 1400, 0, 0);
  std::fill(rig.answer.begin(), rig.answer.end(), 1.0F);
  EXPECT_EQ(SumChecked(rig.Parts(false), rig.Answer(), 1023.5), 1024);
  EXPECT_NE(rig.outs[0][511], 9);
  EXPECT_EQ(rig.outs[0][512], 9);
  EXPECT_EQ(SumChecked(rig.Parts(false), rig.Answer(), 1400), 1400);
  EXPECT_NE(rig.outs[1][1399], 9);
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, CheckedSum,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()), TargetOf);

}  // namespace
}  // namespace motley
