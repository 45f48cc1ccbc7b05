// SPDX-License-Identifier: Apache-2.0
// The graph view of a code with coefficients 1: blocks of partitions are vertices, and each worker
// is an edge between the two blocks that it holds (Glasgow and Wootters, "Approximate gradient
// coding with optimal decoding", JSAIT 2021). Least squares then needs no matrix. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coding/code_form.h"

namespace motley {

struct BlockGraph {
  struct Edge {
    uint32_t u = 0;
    uint32_t v = 0;  // Equal to u if the worker holds a single block.
  };
  std::vector<double> sizes;  // Number of partitions of each vertex.
  std::vector<Edge> edges;    // One per row.
};

// Partitions held by the same rows form one block. Nothing if a coefficient is not 1, or a row
// holds no block or more than two.
std::optional<BlockGraph> GraphOf(const CodeForm& form);

// One weight per edge, 0 on missing edges, that minimises sum_v sizes_v (alpha_v - 1)^2, where
// alpha_v is the sum of the weights at v. In each component of the present edges:
//   with an odd cycle or a worker of a single block:  alpha = 1 everywhere
//   bipartite with sides L and R:  alpha_v = 1 -+ mu / sizes_v (- on L),
//                                  mu = (|L| - |R|) / sum_v 1 / sizes_v
// (for equal sizes the paper's 1 -+ (|L| - |R|) / (|L| + |R|)). The weights follow by eliminating
// the leaves of a spanning tree. They start from 1 / degree, so that they stay small if little is
// missing. O(vertices + edges).
std::vector<double> DecodeGraph(const BlockGraph& graph, const std::vector<bool>& present);

}  // namespace motley
