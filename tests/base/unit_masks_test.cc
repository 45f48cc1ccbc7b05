// SPDX-License-Identifier: Apache-2.0
#include "base/unit_masks.h"

#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <cmath>

namespace motley {
namespace {

TEST(UnitMasks, AreThoseOfTheLibrary) {
  const r123::Philox4x32 philox;
  uint64_t key = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint32_t sample = i * 2654435761u, block = i * i;
    const auto want = philox({{sample, block, 0, 0}},
                             {{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}});
    const MaskWords got = MaskWordsOf(key, sample, block);
    for (int j = 0; j < 4; ++j) ASSERT_EQ(got.word[j], want[j]) << i;
    key = key * 0x9e3779b97f4a7c15u + 1;
  }
}

// Recorded values: nodes of different builds must agree, and checkpoints must stay usable. The
// first is the known answer of Random123's own test.
TEST(UnitMasks, NeverChange) {
  EXPECT_EQ(MaskWordsOf(0, 0, 0).word[0], 0x6627e8d5u);
  EXPECT_EQ(MaskWordsOf(0, 0, 0).word[3], 0x9b00dbd8u);
}

TEST(UnitMasks, DropAsManyAsTheyShould) {
  constexpr uint32_t kSamples = 20000;
  constexpr double kChance = 0.3;
  uint32_t dropped = 0;
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    for (const uint32_t word : MaskWordsOf(77, sample, 5).word) {
      dropped += word < static_cast<uint32_t>(kChance * 0x1p32) ? 1 : 0;
    }
  }
  // Six standard deviations.
  const double all = 4.0 * kSamples;
  EXPECT_NEAR(dropped, kChance * all, 6 * std::sqrt(all * kChance * (1 - kChance)));
}

}  // namespace
}  // namespace motley
