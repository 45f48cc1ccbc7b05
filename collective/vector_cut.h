// SPDX-License-Identifier: Apache-2.0
// Cuts a contribution into equal segments, one per member, and each segment into chunks. Pure.
//
//   CutContribution(10, 1, 2, 4): 0-4 4-5 | 5-9 9-10, and the value beside the vector in the last
//   segment
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collective/aggregator.h"

namespace motley {

struct Chunk {
  uint32_t segment = 0;
  size_t begin = 0;
  size_t size = 0;      // Values; never 0.
  bool beside = false;  // All values beside the vector, in place of a part of it.

  size_t bytes() const { return size * (beside ? sizeof(double) : sizeof(float)); }
};

// `values` floats and `beside` doubles; chunks have at most `longest` values. Segments differ by
// at most one value.
std::vector<Chunk> CutContribution(size_t values, size_t beside, uint32_t segments, size_t longest);

// The chunk's bytes in the contribution.
std::span<std::byte> BytesOf(Contribution& contribution, const Chunk& chunk);
// Adds values of the chunk's type. `bytes` is aligned for them.
void AddTo(Contribution& contribution, const Chunk& chunk, const std::byte* bytes);

}  // namespace motley
