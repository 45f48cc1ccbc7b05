// SPDX-License-Identifier: Apache-2.0
// A measured profile for people and programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiles/profile.h"

namespace motley {

// Where the profile's link leads, when it is not this machine's own.
struct ServerLink {
  std::string address;
  uint32_t streams = 1;
  double loaded_latency_seconds = 0;  // One way, of a word behind slices of vectors.
};

// Of one worker. `cached`: it was measured before.
std::string ProfileTable(const ClusterProfile& profile, bool cached,
                         const std::optional<ServerLink>& server = std::nullopt);
std::string ProfileJson(const ClusterProfile& profile, bool cached,
                        const std::optional<ServerLink>& server = std::nullopt);

}  // namespace motley
