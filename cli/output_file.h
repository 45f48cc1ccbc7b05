// SPDX-License-Identifier: Apache-2.0
// Files that are written at the end of a long run, checked at its start.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

// Whether `path` can be created: its folder exists and may be written to, and it is no folder
// itself. `flag` names it in errors (kNotFound, kResource, kInvalidArgument). Empty paths are
// fine: nothing will be written.
Status CheckWritable(std::string_view flag, const std::string& path);
// kResource with the system's reason.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace motley
