// SPDX-License-Identifier: Apache-2.0
// All-reduce in two levels, for groups of members behind shared links. The first member of each
// group is its leader and adds up the vectors of the group. The leaders sum among each other as in
// a butterfly, and return the result to their groups. A link between groups carries less than two
// vectors each way; a leader of g members also carries g - 1 vectors each way inside the group.
#pragma once

#include <vector>

#include "collective/algorithm.h"

namespace motley {

std::vector<Step> HierarchicalSteps(const Place& place);

}  // namespace motley
