// SPDX-License-Identifier: Apache-2.0
// Sums without a server: by a collective, or by direct connections (sum_direct.h). Each member is a
// process. The first prints the times.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/sum_task.h"

namespace motley {

struct MemberTask {
  std::string reduce;                  // A name of collective/algorithm.h, or kDirectSum.
  std::string groups;                  // See ParseGroups; "latency": measured. Empty: two halves.
  std::string topology;                // A file for ParseTopology, instead of `groups`.
  std::vector<std::string> addresses;  // By rank. Empty: all members run here.

  // The members below are for kDirectSum.
  uint32_t spares = 0;         // Members after the workers. They sum and have no vector.
  std::vector<double> shares;  // By rank: the part of the vector that it owns. Empty: equal parts.
};

inline constexpr char kDirectSum[] = "direct";

// Runs the member of this rank until the last sum. Ends the process at an error.
void RunMember(const SumTask& task, const MemberTask& members, uint32_t rank);

// Starts a process for each member on this machine, and waits for all.
void RunLocalMembers(const SumTask& task, MemberTask members);

}  // namespace motley
