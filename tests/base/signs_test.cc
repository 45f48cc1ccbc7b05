// SPDX-License-Identifier: Apache-2.0
#include "base/signs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

namespace motley {
namespace {

double SignedSum(uint64_t seed, const std::vector<double>& values) {
  const SignKey key = SignKeyOf(seed);
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += SignOf(key, i) != 0 ? -values[i] : values[i];
  return sum;
}

// Recorded values: nodes of different builds must agree.
TEST(Signs, NeverChange) {
  EXPECT_EQ(MixedSeed(0), 0xe220a8397b1dcdafu);
  const SignKey key = SignKeyOf(1);
  EXPECT_EQ(SignWord(key, 0), 880687261u);
  EXPECT_EQ(SignWord(key, 1), 640164732u);
  EXPECT_EQ(SignWord(key, 4'000'000'000), 3074607472u);
}

TEST(Signs, AreTheBitsOfTheirWordsFromTheTop) {
  const SignKey key = SignKeyOf(3);
  for (const uint64_t i : {0, 15, 16, 511, 512, 5000}) {
    const auto number = static_cast<uint32_t>(i / 512 * 16 + i % 16);
    const auto row = static_cast<int>(i / 16 % 32);
    EXPECT_EQ(SignOf(key, i) >> 31, SignWord(key, number) >> (31 - row) & 1) << i;
  }
}

TEST(Signs, AreAsOftenPlusAsMinusAndKnowNothingOfEachOther) {
  constexpr int kWords = 20000;
  for (const uint64_t seed : {0, 1, 2, 1 << 20}) {
    const SignKey key = SignKeyOf(seed);
    const SignKey next = SignKeyOf(seed + 1);
    int ones = 0;
    int pairs = 0;
    int rows = 0;
    int seeds = 0;
    for (uint32_t number = 0; number < kWords; ++number) {
      const uint32_t word = SignWord(key, number);
      ones += std::popcount(word);
      pairs += std::popcount(word ^ SignWord(key, number + 1));
      rows += std::popcount(word ^ std::rotl(word, 1));
      seeds += std::popcount(word ^ SignWord(next, number));
    }
    // Six standard deviations.
    for (const int count : {ones, pairs, rows, seeds}) {
      EXPECT_NEAR(count, 16 * kWords, 6 * std::sqrt(8.0 * kWords)) << seed;
    }
  }
}

// The property that makes them a sketch: on average, the square of the signed sum is the squared
// norm. It also holds for vectors of one value, and for repetitive ones.
TEST(Signs, SumsOfSignedValuesHaveTheSquareOfTheNormInTheMean) {
  constexpr int kSeeds = 4000;
  for (const bool alike : {true, false}) {
    std::vector<double> values(700);
    double squares = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = alike ? 1 : std::sin(static_cast<double>(i));
      squares += values[i] * values[i];
    }
    double mean = 0;
    for (int seed = 0; seed < kSeeds; ++seed) mean += std::pow(SignedSum(seed, values), 2) / kSeeds;
    // The square of a normal number has a variance of twice its squared mean.
    EXPECT_NEAR(mean / squares, 1, 6 * std::sqrt(2.0 / kSeeds));
  }
}

}  // namespace
}  // namespace motley
