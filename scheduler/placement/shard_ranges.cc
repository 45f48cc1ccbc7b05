// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement/shard_ranges.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace motley {
namespace {

// The owners that keep a range, the largest share first.
std::vector<size_t> OwnersOf(const ShardShares& shares, uint64_t length, const RangeRules& rules) {
  std::vector<size_t> owners(shares.size());
  std::iota(owners.begin(), owners.end(), size_t{0});
  std::stable_sort(owners.begin(), owners.end(),
                   [&](size_t a, size_t b) { return shares[a] > shares[b]; });
  const uint64_t least = std::max(rules.least, 2 * rules.unit);
  owners.resize(std::clamp<size_t>(length / least, 1, std::min(owners.size(), rules.most_ranges)));
  double sum = 0;
  for (const size_t owner : owners) sum += shares[owner];
  while (owners.size() > 1) {
    const double smallest = shares[owners.back()];
    if (smallest / sum * static_cast<double>(length) >= static_cast<double>(least)) break;
    sum -= smallest;
    owners.pop_back();
  }
  return owners;
}

}  // namespace

std::vector<ShardRange> RangesFor(const ShardShares& shares, uint64_t length,
                                  const RangeRules& rules) {
  MOTLEY_ASSERT(!shares.empty() && length > 0 && rules.unit > 0 && rules.most_ranges > 0);
  std::vector<size_t> owners = OwnersOf(shares, length, rules);
  std::sort(owners.begin(), owners.end());
  double sum = 0;
  for (const size_t owner : owners) sum += shares[owner];
  const uint64_t units = length / rules.unit;
  std::vector<ShardRange> ranges;
  double before = 0;
  uint64_t begin = 0;
  for (const size_t owner : owners) {
    before += shares[owner];
    // Rounding the ends, and not the sizes, keeps the sum.
    const double end = before / sum * static_cast<double>(units);
    const bool last = owner == owners.back();
    ranges.push_back({owner, begin, last ? length : rules.unit * std::llround(end)});
    begin = ranges.back().end;
  }
  return ranges;
}

ShardShares SharesOf(const std::vector<ShardRange>& ranges, size_t nodes) {
  ShardShares shares(nodes, 0);
  if (ranges.empty()) return shares;
  const auto length = static_cast<double>(ranges.back().end);
  for (const ShardRange& range : ranges) {
    shares[range.owner] += static_cast<double>(range.size()) / length;
  }
  return shares;
}

}  // namespace motley
