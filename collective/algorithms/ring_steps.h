// SPDX-License-Identifier: Apache-2.0
// All-reduce over a ring (Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters
// of workstations, 2009). A segment starts at the member after its owner. Each member adds its own
// values and passes the sum on, until the owner has the whole. The sum then travels once more round
// the ring. Every link carries 2 (n - 1) / n vectors each way, at the pace of the slowest one.
#pragma once

#include <vector>

#include "collective/algorithm.h"

namespace motley {

std::vector<Step> RingSteps(const Place& place);

}  // namespace motley
