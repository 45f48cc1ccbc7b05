// SPDX-License-Identifier: Apache-2.0
// Which chunks (partitions, or runs of them) each worker holds, and in which order it computes
// them when each finished chunk counts by itself. Pure; any thread.
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

// n workers, n chunks, `copies` <= n of each.
// Cyclic shifted (Mohammadi Amiri and Gunduz, IEEE Trans. Signal Processing 67(24), 2019, "CS"):
// worker w computes w, w + 1, ..., w + copies - 1 (mod n).
WorkLists CyclicShiftedLists(uint32_t n, uint32_t copies);
// Staircase (there "SS"): even workers go up from their own chunk, odd ones down.
WorkLists StaircaseLists(uint32_t n, uint32_t copies);
// A random regular placement without a chunk twice on a worker: 20 n copies random exchanges from
// the cyclic one. The order is random too.
WorkLists RandomRegularLists(uint32_t n, uint32_t copies, Random& random);

// The best order for a regular placement (every worker has as many chunks as every chunk has
// workers): it splits into perfect matchings of workers and chunks (Koenig), and the chunk of the
// t-th matching is computed t-th, so that each chunk is at each position exactly once (Ramamoorthy,
// Meng, Girimaji, NeurIPS 2024). Matchings by random alternating walks, O(n log n) each (Goel,
// Kapralov, Khanna, SIAM J. Comput. 42, 2013). kInvalidArgument when the placement is not regular.
Result<WorkLists> MatchingOrder(const WorkLists& placement, uint64_t seed);

// An order for any placement: every worker always starts, of the chunks it holds, the one that the
// fewest others have started, were all as fast as `speeds` (one per worker, > 0) says; its first
// among equals.
WorkLists LeastCoveredFirst(WorkLists placement, std::span<const double> speeds);

// For each chunk the sum of its positions (from 1) over the workers that hold it; the largest of
// them ("Q_max"). An order by matchings has d (d + 1) / 2 with d copies, the least possible.
uint64_t LargestPositionSum(const WorkLists& lists);

}  // namespace motley
