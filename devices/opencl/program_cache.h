// SPDX-License-Identifier: Apache-2.0
// A file cache of compiled programs. Each key has one file, with the key and a checksum inside.
// Files are written under another name and then renamed, so that readers never see a partial file.
// Several processes may share a folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace motley::opencl {

// "FOLDER/opencl-0123456789abcdef.bin"
std::string CachePath(const std::string& folder, std::string_view key);

// Nothing when the file is missing, incomplete, or belongs to another key.
std::optional<std::string> ReadCached(const std::string& folder, std::string_view key);

// Returns true if the file was written.
bool WriteCached(const std::string& folder, std::string_view key, std::string_view binary);

}  // namespace motley::opencl
