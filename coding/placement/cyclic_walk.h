// SPDX-License-Identifier: Apache-2.0
// The placement of heterogeneity-aware codes (Wang et al., ICDCS 2019): one walk goes s + 1 times
// round the k partitions, and workers take consecutive stretches of it. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coding/placement/unit_circle.h"

namespace motley {

// Place p of the walk is partition p mod k; the q-th worker has places start[q] to start[q + 1].
struct CyclicWalk {
  std::vector<WorkerId> worker;
  std::vector<uint64_t> start;
};

// Workers in this order; loads[w] partitions for worker w, at most k.
CyclicWalk WalkInOrder(std::vector<WorkerId> order, std::span<const uint32_t> loads);

// An order that puts workers with neighbouring numbers far apart, by the stride coprime to n that
// is nearest to the golden section. Neighbours in the walk get neighbouring nodes (MiddleNodes),
// and losing these together costs the most precision. Workers with neighbouring numbers often fail
// together, since they share a rack.
std::vector<WorkerId> SpreadOrder(uint32_t n);

// Partitions between two starts (mod k) have the same holders, one for each of `copies` rounds.
std::vector<HeldRun> HeldRuns(const CyclicWalk& walk, uint32_t partitions, uint32_t copies);

// Makes the form (with empty rows) a draft: its rows are stretches of the walk.
CodeForm DraftOf(const CyclicWalk& walk, CodeForm form);

// A node for each worker: the middle of its stretch when the walk goes round the circle once. The
// holders of a partition are k places apart, so their nodes are at least half of 1 / (s + 1) of a
// turn apart.
std::vector<Complex> MiddleNodes(const CyclicWalk& walk);

}  // namespace motley
