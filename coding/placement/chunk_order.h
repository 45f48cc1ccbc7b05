// SPDX-License-Identifier: Apache-2.0
// Decides which chunks (partitions, or runs of them) each worker holds, and in which order it
// computes them if each finished chunk counts by itself. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "base/status.h"

namespace motley {

// lists[w]: the chunks that worker w computes, in order.
using WorkLists = std::vector<std::vector<PartitionId>>;

// Cyclic shifted lists for n workers and n chunks with `copies` <= n of each (Mohammadi Amiri and
// Gunduz, IEEE Trans. Signal Processing 67(24), 2019, "CS"). Worker w computes w, w + 1, ..., w +
// copies - 1 (mod n).
WorkLists CyclicShiftedLists(uint32_t n, uint32_t copies);
// A random regular placement in random order that has no chunk twice on a worker: 20 n copies
// random exchanges, starting from the cyclic placement.
WorkLists RandomRegularLists(uint32_t n, uint32_t copies, Random& random);

// The best order for a regular placement (every worker has as many chunks as every chunk has
// workers). The placement splits into perfect matchings of workers and chunks (Koenig). The chunk
// of the t-th matching is computed t-th, so each chunk is at each position exactly once
// (Ramamoorthy, Meng, Girimaji, NeurIPS 2024). Matchings are found by random alternating walks, O(n
// log n) each (Goel, Kapralov, Khanna, SIAM J. Comput. 42, 2013). kInvalidArgument when the
// placement is not regular.
Result<WorkLists> MatchingOrder(const WorkLists& placement, uint64_t seed);

// An order for any placement. Every worker always starts the chunk, of those it holds, that the
// fewest others have started, assuming that all work at the given `speeds` (one per worker, > 0).
// Ties go to the first chunk in its list.
WorkLists LeastCoveredFirst(WorkLists placement, std::span<const double> speeds);

}  // namespace motley
