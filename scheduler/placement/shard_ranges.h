// SPDX-License-Identifier: Apache-2.0
// Turns the shares of a vector (profiles/shard_shares.h) into ranges of floats. Pure.
//
//   shares 0.5 0.3 0 0.2 of 100 floats    owner 0 has 0-50, owner 1 has 50-80, owner 3 has 80-100
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiles/shard_shares.h"

namespace motley {

struct ShardRange {
  size_t owner = 0;  // Index in the shares.
  uint64_t begin = 0, end = 0;

  uint64_t size() const { return end - begin; }
  bool operator==(const ShardRange&) const = default;
};

struct RangeRules {
  // Ranges begin at multiples of this, because complex coefficients act on pairs of floats.
  uint64_t unit = 2;
  // A node with less than this owns nothing. The messages of a shorter range cost more than its
  // bytes: 64 KiB take 0.5 ms at 1 Gbit/s.
  uint64_t least = 16'384;
  size_t most_ranges = 1024;
};

// Contiguous ranges in the order of their owners, which together are the vector of `length` > 0
// floats. Nodes whose share is too small give it to the others in proportion, the smallest first;
// the largest node always has a range. Each other range differs from its share by less than a unit.
// `shares` add up to 1.
std::vector<ShardRange> RangesFor(const ShardShares& shares, uint64_t length,
                                  const RangeRules& rules = {});

// The shares that the ranges amount to, for so many nodes.
ShardShares SharesOf(const std::vector<ShardRange>& ranges, size_t nodes);

}  // namespace motley
