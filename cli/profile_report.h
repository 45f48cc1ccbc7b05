// SPDX-License-Identifier: Apache-2.0
// A measured profile for people and programs.
#pragma once

#include <string>

#include "profiles/profile.h"

namespace motley {

// Of one worker. `cached`: it was measured before.
std::string ProfileTable(const ClusterProfile& profile, bool cached);
std::string ProfileJson(const ClusterProfile& profile, bool cached);

}  // namespace motley
