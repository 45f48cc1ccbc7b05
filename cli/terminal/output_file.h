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
// As CheckWritable, for a file that is replaced as a whole: kInvalidArgument also for what is there
// but no regular file. A link is followed.
Status CheckReplaced(std::string_view flag, const std::string& path);
// kInvalidArgument when writing `path` would overwrite `other`, which `other_flag` names: the same
// file, whatever links lead to it. A folder stands for the samples (MNIST's layout) in it.
Status CheckApart(std::string_view flag, const std::string& path, std::string_view other_flag,
                  const std::string& other);
// CheckApart for every file of `--data` as given: "PATH[:labels=FILE][:test=FILE]".
Status CheckApartFromData(std::string_view flag, const std::string& path, const std::string& data);
// kResource with the system's reason. A regular file is written whole or stays as it was, and no
// empty one is left on a full disk.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace motley
