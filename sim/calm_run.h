// SPDX-License-Identifier: Apache-2.0
// A run beside the same one without faults.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario.h"

namespace motley {

// Sums of plain answers with disjoint supports are formed in one order, whoever answers and
// whenever: as long as the plan stays, faults do not change a bit (I4). True if this could be
// judged; what is not as it should be is added to `wrong`.
bool CompareWithCalm(const Scenario& scenario, const SimResult& result,
                     std::vector<std::string>& wrong);

}  // namespace motley
