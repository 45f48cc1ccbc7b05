// SPDX-License-Identifier: Apache-2.0
// Formats a measured profile for users and programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profiles/profile.h"

namespace motley {

// The other end of the profile's link, if it is not this machine.
struct ServerLink {
  std::string address;
  uint32_t streams = 1;
  double loaded_latency_seconds = 0;  // One-way latency of a message behind slices of vectors.
};

// `profile` has one worker. `cached`: it was measured by an earlier run.
std::string ProfileTable(const ClusterProfile& profile, bool cached,
                         const std::optional<ServerLink>& server = std::nullopt);
std::string ProfileJson(const ClusterProfile& profile, bool cached,
                        const std::optional<ServerLink>& server = std::nullopt);

}  // namespace motley
