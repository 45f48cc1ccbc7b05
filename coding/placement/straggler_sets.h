// SPDX-License-Identifier: Apache-2.0
// Sets of s missing workers out of n: all of them, or a sample.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/random.h"

namespace motley {

// n choose s; the largest uint64_t when it does not fit.
uint64_t Choose(uint64_t n, uint64_t s);

// Ascending sets of s of n workers. All sets, in lexicographic order, if there are at most
// `samples` (>= 1). Otherwise that many drawn from `random`; every second one is a window of
// neighbours (mod n) at a random place, because neighbours hold the same partitions.
std::vector<std::vector<WorkerId>> StragglerSets(uint32_t n, uint32_t s, uint64_t samples,
                                                 Random& random);

}  // namespace motley
