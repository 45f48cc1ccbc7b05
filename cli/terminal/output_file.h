// SPDX-License-Identifier: Apache-2.0
// Checks files at the start of a long run that are written at its end.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace motley {

// Checks that `path` can be created: its folder exists and is writable, and `path` is not a folder.
// `flag` names the path in errors (kNotFound, kResource, kInvalidArgument). An empty path is OK:
// nothing will be written.
Status CheckWritable(std::string_view flag, const std::string& path);
// Like CheckWritable, for a file that is replaced as a whole. kInvalidArgument also if `path`
// exists and is not a regular file. Links are followed.
Status CheckReplaced(std::string_view flag, const std::string& path);
// kInvalidArgument: writing `path` would overwrite `other`, which `other_flag` names. Links are
// followed. A folder stands for the samples (MNIST's layout) in it.
Status CheckApart(std::string_view flag, const std::string& path, std::string_view other_flag,
                  const std::string& other);
// Calls CheckApart for every file in a value of `--data`: "PATH[:labels=FILE][:test=FILE]".
Status CheckApartFromData(std::string_view flag, const std::string& path, const std::string& data);
// Writes a regular file completely or leaves it as it was. A full disk leaves no empty file.
// kResource gives the system's reason.
Status WriteFile(const std::string& path, std::string_view text);

}  // namespace motley
