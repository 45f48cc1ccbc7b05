// SPDX-License-Identifier: Apache-2.0
#include "coding/placement/straggler_sets.h"

#include <algorithm>
#include <limits>

namespace motley {
namespace {

std::vector<std::vector<WorkerId>> AllSets(uint32_t n, uint32_t s) {
  std::vector<std::vector<WorkerId>> sets;
  std::vector<WorkerId> set(s);
  for (uint32_t i = 0; i < s; ++i) set[i] = i;
  for (;;) {
    sets.push_back(set);
    uint32_t i = s;
    while (i > 0 && set[i - 1] == n - s + i - 1) --i;
    if (i == 0) return sets;
    ++set[i - 1];
    for (; i < s; ++i) set[i] = set[i - 1] + 1;
  }
}

std::vector<WorkerId> RandomSet(uint32_t n, uint32_t s, Random& random) {
  std::vector<WorkerId> set;
  while (set.size() < s) {
    const auto worker = static_cast<WorkerId>(random.Below(n));
    const auto place = std::lower_bound(set.begin(), set.end(), worker);
    if (place == set.end() || *place != worker) set.insert(place, worker);
  }
  return set;
}

std::vector<WorkerId> Window(uint32_t n, uint32_t s, Random& random) {
  const uint64_t start = random.Below(n);
  std::vector<WorkerId> set;
  for (uint32_t i = 0; i < s; ++i) set.push_back(static_cast<WorkerId>((start + i) % n));
  std::sort(set.begin(), set.end());
  return set;
}

}  // namespace

uint64_t Choose(uint64_t n, uint64_t s) {
  s = std::min(s, n - s);
  unsigned __int128 value = 1;
  for (uint64_t i = 1; i <= s; ++i) {
    value = value * (n - s + i) / i;
    if (value > std::numeric_limits<uint64_t>::max()) return std::numeric_limits<uint64_t>::max();
  }
  return static_cast<uint64_t>(value);
}

std::vector<std::vector<WorkerId>> StragglerSets(uint32_t n, uint32_t s, uint64_t samples,
                                                 Random& random) {
  if (Choose(n, s) <= samples) return AllSets(n, s);
  std::vector<std::vector<WorkerId>> sets;
  for (uint64_t i = 0; i < samples; ++i) {
    sets.push_back(i % 2 == 0 ? RandomSet(n, s, random) : Window(n, s, random));
  }
  return sets;
}

}  // namespace motley
