// SPDX-License-Identifier: Apache-2.0
#include "collective/algorithms/butterfly_steps.h"

namespace motley {
namespace {

// Members differ in one digit from their peers at a level. The first level has the largest stride.
struct Level {
  uint32_t radix;
  uint32_t stride;
  uint32_t DigitOf(uint32_t number) const { return number / stride % radix; }
  uint32_t WithDigit(uint32_t number, uint32_t digit) const {
    return number - DigitOf(number) * stride + digit * stride;
  }
};

std::vector<Level> LevelsOf(uint32_t members) {
  std::vector<Level> levels;
  uint32_t rest = members;
  for (uint32_t factor = 2; rest > 1; ++factor) {
    for (; rest % factor == 0; rest /= factor) levels.push_back({factor, rest / factor});
  }
  return levels;
}

void ForEachPeer(std::vector<Step>& steps, Verb verb, const Level& level, Rank rank) {
  for (uint32_t digit = 0; digit < level.radix; ++digit) {
    if (digit != level.DigitOf(rank)) steps.push_back({verb, level.WithDigit(rank, digit)});
  }
}

}  // namespace

std::vector<Step> ButterflySteps(const Place& place) {
  const std::vector<Level> levels = LevelsOf(place.members);
  const auto belongs = [&](const Level& level) {
    return level.DigitOf(place.rank) == level.DigitOf(place.segment);
  };
  std::vector<Step> steps;
  size_t depth = 0;  // At the first levels, this member sums the part that has the segment.
  for (; depth < levels.size() && belongs(levels[depth]); ++depth) {
    ForEachPeer(steps, Verb::kAdd, levels[depth], place.rank);
  }
  if (depth < levels.size()) {
    const Level& level = levels[depth];
    const Rank peer = level.WithDigit(place.rank, level.DigitOf(place.segment));
    steps.push_back({Verb::kSend, peer});
    steps.push_back({Verb::kCopy, peer});
  }
  while (depth > 0) ForEachPeer(steps, Verb::kSend, levels[--depth], place.rank);
  return steps;
}

}  // namespace motley
