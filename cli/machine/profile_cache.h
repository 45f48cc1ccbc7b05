// SPDX-License-Identifier: Apache-2.0
// Keeps measured profiles in the user's cache folder.
#pragma once

#include <optional>
#include <string>

#include "profiles/profile.h"

namespace motley {

// "$XDG_CACHE_HOME/motley/profiles", or below "$HOME/.cache"; empty: neither is set.
std::string ProfileCacheFolder();

// The profile kept under `key` (letters and digits); empty: no readable one.
std::optional<ClusterProfile> FindProfile(const std::string& folder, const std::string& key);

// Replaces the profile kept under `key`. kResource, kPermission: the cache cannot be written, which
// deserves no more than a warning.
Status KeepProfile(const std::string& folder, const std::string& key,
                   const ClusterProfile& profile);

}  // namespace motley
