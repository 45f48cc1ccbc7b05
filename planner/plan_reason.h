// SPDX-License-Identifier: Apache-2.0
// Explains a scheme's place in a ranking in one line for the user.
#pragma once

#include <string>

#include "planner/planner.h"

namespace motley {

// Precondition: `ranking` is sorted and has premiums.
std::string ReasonFor(const PlannedScheme& planned, const Ranking& ranking);

}  // namespace motley
