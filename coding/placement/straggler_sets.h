// SPDX-License-Identifier: Apache-2.0
// Which s of n workers are missing: all the possibilities, or a sample of them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/random.h"

namespace motley {

// n choose s; the largest uint64_t when it does not fit.
uint64_t Choose(uint64_t n, uint64_t s);

// Ascending sets of s of n workers: all of them, in lexicographic order, when at most `samples`
// (>= 1); otherwise that many drawn from `random`, every second one a window of neighbours (mod n)
// that starts anywhere, because neighbours hold the same partitions.
std::vector<std::vector<WorkerId>> StragglerSets(uint32_t n, uint32_t s, uint64_t samples,
                                                 Random& random);

}  // namespace motley
