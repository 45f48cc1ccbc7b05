// SPDX-License-Identifier: Apache-2.0
// Placements in which every worker has as many chunks as every chunk has workers, and the order of
// work that is best for them. Pure; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace motley {

// chunks[w]: what worker w computes, in its order.
using ChunkOrder = std::vector<std::vector<uint32_t>>;

// Worker w holds w, w + 1, ..., w + copies - 1 (mod n).
ChunkOrder CyclicPlacement(uint32_t n, uint32_t copies);

// Worker w holds the neighbours of vertex w in a random graph of n vertices, each of degree
// `copies`, without loops or double edges: pairs drawn at random, drawn again where none is left.
// n * copies is even, copies < n.
ChunkOrder GraphPlacement(uint32_t n, uint32_t copies, Random& random);

// The same placement, cut into perfect matchings (Koenig): the t-th chunk of all workers together
// are a permutation, so that every chunk is somebody's t-th for every t.
ChunkOrder OrderByMatchings(const ChunkOrder& placement);

}  // namespace motley
