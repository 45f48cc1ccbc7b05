// SPDX-License-Identifier: Apache-2.0
// The graph view of a code: blocks of partitions are vertices, workers are edges between the two
// blocks that they hold (Glasgow and Wootters, "Approximate gradient coding with optimal decoding",
// JSAIT 2021), coefficients 1. Then least squares needs no matrix. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coding/code_form.h"

namespace motley {

struct BlockGraph {
  struct Edge {
    uint32_t u = 0;
    uint32_t v = 0;  // u where the worker holds a single block.
  };
  std::vector<double> sizes;  // Per vertex: its partitions.
  std::vector<Edge> edges;    // One per row.
};

// Partitions that the same rows hold are one block. Nothing when a coefficient is not 1 or a row
// holds no block or more than two.
std::optional<BlockGraph> GraphOf(const CodeForm& form);

// One weight per edge, 0 on those that are not present, with the least sum_v sizes_v (alpha_v -
// 1)^2, alpha_v being the weights at v together. In each component of the present edges:
//   with an odd cycle or a worker of a single block:  alpha = 1 everywhere
//   bipartite with sides L and R:  alpha_v = 1 -+ mu / sizes_v (- on L),
//                                  mu = (|L| - |R|) / sum_v 1 / sizes_v
// (for equal sizes the paper's 1 -+ (|L| - |R|) / (|L| + |R|)). The weights follow by eliminating
// leaves of a spanning tree; they start from 1 / degree, so that they stay small where little is
// missing. O(vertices + edges).
std::vector<double> DecodeGraph(const BlockGraph& graph, const std::vector<bool>& present);

}  // namespace motley
