// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>

#include "data/files/file_io.h"
#include "fmt/core.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

// True if both names lead to the same file, which need not exist yet.
bool SameFile(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (fs::equivalent(a, b, ignored)) return true;
  const Result<std::string> to_a = ReplaceTarget(a);
  const Result<std::string> to_b = ReplaceTarget(b);
  if (!to_a.ok() || !to_b.ok()) return false;
  return fs::weakly_canonical(*to_a, ignored) == fs::weakly_canonical(*to_b, ignored);
}

bool IsSampleFile(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("train-") || name.starts_with("t10k-");
}

}  // namespace

Status CheckWritable(std::string_view flag, const std::string& path) {
  if (path.empty()) return Status::Ok();
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno == ENAMETOOLONG) {
    return Status::InvalidArgument(fmt::format("{} {}: the name is too long", flag, path));
  }
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
  // An existing file or device needs no new directory entry.
  const std::string& target = exists ? path : folder;
  if (access(target.c_str(), W_OK) != 0) {
    const bool forbidden = errno == EACCES || errno == EPERM || errno == EROFS;
    return Status(forbidden ? StatusCode::kPermission : StatusCode::kResource,
                  fmt::format("{} {}: cannot write to {}: {}. Choose another place", flag, path,
                              target, std::strerror(errno)));
  }
  return Status::Ok();
}

Status CheckReplaced(std::string_view flag, const std::string& path) {
  if (path.empty()) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(CheckWritable(flag, path));
  return CheckReplaceable(path).WithContext(std::string(flag));
}

Status CheckApart(std::string_view flag, const std::string& path, std::string_view other_flag,
                  const std::string& other) {
  if (path.empty() || other.empty()) return Status::Ok();
  bool same = SameFile(path, other);
  std::error_code error;
  for (fs::directory_iterator entry(other, error), end; !error && !same && entry != end;
       entry.increment(error)) {
    same = IsSampleFile(entry->path()) && SameFile(path, entry->path().string());
  }
  if (!same) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "{} {}: this would overwrite {} {}. Choose another place", flag, path, other_flag, other));
}

Status CheckApartFromData(std::string_view flag, const std::string& path, const std::string& data) {
  for (size_t begin = 0; begin != std::string::npos;) {
    const size_t end = std::min(data.find(":test=", begin), data.find(":labels=", begin));
    MOTLEY_RETURN_IF_ERROR(CheckApart(flag, path, "--data", data.substr(begin, end - begin)));
    begin = end == std::string::npos ? end : data.find('=', end) + 1;
  }
  return Status::Ok();
}

Status WriteFile(const std::string& path, std::string_view text) {
  if (ReplaceTarget(path).ok()) {
    const BytesView bytes = std::as_bytes(std::span(text));
    const Status written = WriteFileAtomically(path, {&bytes, 1});
    // Without permission to write to the folder the file can only be overwritten in place.
    if (written.code() != StatusCode::kPermission) return written;
  }
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
