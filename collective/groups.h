// SPDX-License-Identifier: Apache-2.0
// Groups of members for the hierarchical collective. Pure.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "collective/algorithm.h"

namespace motley {

// kInvalidArgument unless each of the members is in one group, and no group is empty.
Status CheckGroups(const Groups& groups, uint32_t members);

// Reads a list such as "0,1,2/3,4": ranks separated by commas, groups by slashes. The first of
// each group is its leader. Checks the groups, too.
Result<Groups> ParseGroups(std::string_view text, uint32_t members);

// Reads a topology file: one group in each line, ranks separated by blanks or commas, and comments
// after #. Checks the groups, too.
//
//   # The first of each line is the leader.
//   0 1 2
//   3 4    # the room upstairs
Result<Groups> ParseTopology(std::string_view text, uint32_t members);

// Every member a group of its own, which makes the hierarchical collective a butterfly.
Groups SingleMembers(uint32_t members);

// Finds groups of members that are close to each other. `seconds` has the latency from i to j at
// i * members + j; the diagonal is not used. Members are joined by ever longer edges, as in a
// minimum spanning tree. The groups are what is joined before the largest leap of the edges'
// lengths. Where no edge is more than twice as long as the one before, there is no structure, and
// every member is a group of its own.
Groups GroupsByLatency(std::span<const double> seconds, uint32_t members);

}  // namespace motley
