// SPDX-License-Identifier: Apache-2.0
// Validates paths of a Store. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

// kInvalidArgument unless `path` is "" or parts between single '/', none of them "." or "..".
inline Status CheckStorePath(const std::string& path) {
  if (path.empty()) return Status::Ok();
  std::string_view rest = path;
  while (true) {
    const size_t end = rest.find('/');
    const std::string_view part = rest.substr(0, end);
    if (part.empty() || part == "." || part == "..") {
      return Status::InvalidArgument("'" + path + "' is not a path inside a store");
    }
    if (end == std::string_view::npos) return Status::Ok();
    rest.remove_prefix(end + 1);
  }
}

// The folder of a path; "" for the root.
inline std::string FolderOf(const std::string& path) {
  const size_t end = path.rfind('/');
  return end == std::string::npos ? "" : path.substr(0, end);
}

}  // namespace motley
