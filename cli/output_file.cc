// SPDX-License-Identifier: Apache-2.0
#include "cli/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "fmt/core.h"

namespace motley {

Status CheckWritable(std::string_view flag, const std::string& path) {
  if (path.empty()) return Status::Ok();
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    return Status::InvalidArgument(
        fmt::format("{} {}: this is a folder. Give the name of a file in it", flag, path));
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? std::string(".") : parent.string();
  if (stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) {
    return Status::NotFound(
        fmt::format("{} {}: there is no folder {}. Create it first", flag, path, folder));
  }
  // A device such as /dev/full needs no new directory entry.
  const std::string& target = exists ? path : folder;
  if (access(target.c_str(), W_OK) != 0) {
    return Status::Resource(fmt::format("{} {}: cannot write to {}: {}. Choose another place", flag,
                                        path, target, std::strerror(errno)));
  }
  return Status::Ok();
}

Status WriteFile(const std::string& path, std::string_view text) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    return Status::Resource(fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  }
  bool good = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  int why = good ? 0 : errno;
  if (std::fclose(file) != 0 && good) {
    good = false;
    why = errno;
  }
  if (good) return Status::Ok();
  return Status::Resource(fmt::format("cannot write {}: {}", path, std::strerror(why)));
}

}  // namespace motley
