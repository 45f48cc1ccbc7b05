// SPDX-License-Identifier: Apache-2.0
// Compiled programs as files: one per key, which the file repeats, with a checksum. Written under
// another name first, so that readers see all of a file or none; several processes may share a
// folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace motley::opencl {

// "FOLDER/opencl-0123456789abcdef.bin"
std::string CachePath(const std::string& folder, std::string_view key);

// Nothing when there is no such file, or not all of it, or it is another key's.
std::optional<std::string> ReadCached(const std::string& folder, std::string_view key);

// Whether it could be kept.
bool WriteCached(const std::string& folder, std::string_view key, std::string_view binary);

}  // namespace motley::opencl
