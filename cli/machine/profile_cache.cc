// SPDX-License-Identifier: Apache-2.0
#include "cli/machine/profile_cache.h"

#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "data/files/file_io.h"
#include "devices/drivers/modules.h"
#include "fmt/core.h"

namespace motley {
namespace {

std::string PathOf(const std::string& folder, const std::string& key) {
  return fmt::format("{}/{}.toml", folder, key);
}

}  // namespace

std::string ProfileCacheFolder() {
  const std::string folder = CacheFolder();
  return folder.empty() ? "" : folder + "/profiles";
}

std::optional<ClusterProfile> FindProfile(const std::string& folder, const std::string& key) {
  if (folder.empty()) return std::nullopt;
  Result<ClusterProfile> found = LoadClusterProfile(PathOf(folder, key));
  if (!found.ok() || found->workers.size() != 1) return std::nullopt;
  return *std::move(found);
}

Status KeepProfile(const std::string& folder, const std::string& key,
                   const ClusterProfile& profile) {
  if (folder.empty()) return Status::Ok();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Status::Resource(fmt::format("cannot create '{}': {}", folder, error.message()));
  // A concurrent reader sees the old profile or the new one.
  const std::string text = FormatClusterProfile(profile);
  const BytesView piece = std::as_bytes(std::span(text));
  return WriteFileAtomically(PathOf(folder, key), {&piece, 1});
}

}  // namespace motley
