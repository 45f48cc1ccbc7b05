// SPDX-License-Identifier: Apache-2.0
// Why a scheme is where it is in a ranking, in one line for people.
#pragma once

#include <string>

#include "planner/planner.h"

namespace motley {

// `ranking` is sorted and has premiums.
std::string ReasonFor(const PlannedScheme& planned, const Ranking& ranking);

}  // namespace motley
