// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

namespace motley {
namespace {

using Block = std::array<uint32_t, 4>;

// Philox 4x32-10 written directly from the paper (Salmon et al. 2011), as a reference.
Block Philox(Block counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t low = uint64_t{0xD2511F53} * counter[0];
    const uint64_t high = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(high >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(high),
               static_cast<uint32_t>(low >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(low)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

TEST(Random, ThePlainPhiloxOfThisTestGivesThePublishedVectors) {
  EXPECT_EQ(Philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  EXPECT_EQ(Philox({ones, ones, ones, ones}, {ones, ones}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, IsPhiloxUnderAKeyMixedFromSeedAndStream) {
  const uint64_t key = Mix(Mix(Mix(Mix(42) ^ 7) ^ 3) ^ 9);
  Random random(42, Stream::kTest, 3, 9);
  for (uint32_t block = 0; block < 5; ++block) {
    const Block expected = Philox({block, 0, 0, static_cast<uint32_t>(Stream::kTest)},
                                  {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
    for (const uint32_t word : expected) EXPECT_EQ(random.Next32(), word);
  }
}

TEST(Random, StreamsSeedsAndNumbersNeverShareValues) {
  std::vector<uint64_t> first;
  for (const uint64_t seed : {0, 1}) {
    for (const Stream stream : {Stream::kShuffle, Stream::kSplit, Stream::kCode}) {
      for (uint64_t a = 0; a < 3; ++a) {
        for (uint64_t b = 0; b < 3; ++b) first.push_back(Random(seed, stream, a, b).Next64());
      }
    }
  }
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
}

TEST(Random, DoublesFillTheUnitInterval) {
  Random random(1, Stream::kTest);
  double sum = 0, low = 1, high = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = random.NextDouble();
    sum += x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_GE(low, 0);
  EXPECT_LT(high, 1);
  EXPECT_NEAR(sum / 20000, 0.5, 0.01);
}

TEST(Random, BelowReachesEveryValueAboutEquallyOften) {
  Random random(2, Stream::kTest);
  std::array<int, 6> seen{};
  for (int i = 0; i < 12000; ++i) ++seen[random.Below(6)];
  for (const int count : seen) EXPECT_NEAR(count, 2000, 200);
  EXPECT_EQ(random.Below(1), 0u);
}

TEST(Random, NormalAndExponentialHaveTheirMoments) {
  Random random(3, Stream::kTest);
  double sum = 0, squares = 0, waiting = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
    waiting += random.Exponential(2.5);
  }
  EXPECT_NEAR(sum / 20000, 0, 0.03);
  EXPECT_NEAR(squares / 20000, 1, 0.04);
  EXPECT_NEAR(waiting / 20000, 2.5, 0.08);
}

TEST(Random, ChanceKeepsItsPromiseAtTheEnds) {
  Random random(4, Stream::kTest);
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(random.Chance(0));
    EXPECT_TRUE(random.Chance(1));
  }
}

TEST(Random, ShuffleKeepsTheItems) {
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  Random random(5, Stream::kTest);
  random.Shuffle(std::span<int>(shuffled));
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

// Recorded values. A compiler, machine or library that gives others breaks every replay.
TEST(Random, ValuesAreTheSameOnEveryCompilerAndMachine) {
  Random random(7, Stream::kSimulation, 1, 2);
  EXPECT_EQ(random.Next64(), 0xe10f708905abaa89ull);
  EXPECT_EQ(random.Below(1000000007), 822013760u);
  EXPECT_EQ(random.NextDouble(), 0.33225502167945897);
  std::vector<int> items = {0, 1, 2, 3, 4, 5, 6, 7};
  random.Shuffle(std::span<int>(items));
  EXPECT_EQ(items, (std::vector<int>{0, 6, 2, 1, 5, 3, 4, 7}));
  // The C library's logarithm and cosine may differ in the last bit.
  EXPECT_NEAR(random.Normal(), 1.4004850537941977, 1e-14);
  EXPECT_NEAR(random.Exponential(3), 2.648166420692756, 1e-14);
}

}  // namespace
}  // namespace motley
