// SPDX-License-Identifier: Apache-2.0
// Profiles that were measured before, in the user's cache folder.
#pragma once

#include <optional>
#include <string>

#include "profiles/profile.h"

namespace motley {

// "$XDG_CACHE_HOME/motley/profiles", or below "$HOME/.cache"; empty: neither is set.
std::string ProfileCacheFolder();

// The profile kept under `key` (letters and digits); none when there is none that can be read.
std::optional<ClusterProfile> FindProfile(const std::string& folder, const std::string& key);

// Replaces what is kept under `key`. kResource, kPermission with the reason: a cache that cannot be
// written is worth a word, no more.
Status KeepProfile(const std::string& folder, const std::string& key,
                   const ClusterProfile& profile);

}  // namespace motley
