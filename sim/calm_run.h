// SPDX-License-Identifier: Apache-2.0
// Compares a run with the same run without faults.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario.h"

namespace motley {

// I4: plain answers with disjoint supports are added in one fixed order, in whatever order they
// arrive. So faults do not change a bit of the parameters as long as the plan stays. Returns true
// if the runs could be compared, and adds each difference to `wrong`.
bool CompareWithCalm(const Scenario& scenario, const SimResult& result,
                     std::vector<std::string>& wrong);

}  // namespace motley
