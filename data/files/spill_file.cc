// SPDX-License-Identifier: Apache-2.0
#include "data/files/spill_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace motley {
namespace {

Status Failed(const char* what, const std::string& folder) {
  const int error = errno;
  return Status::Resource(
      fmt::format("samples that do not fit into memory cannot be {} {}: {}. Free space there or "
                  "point TMPDIR at another folder",
                  what, folder, std::generic_category().message(error)));
}

int OpenNameless(const std::string& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  // Not every file system supports O_TMPFILE, so the file gets a name first.
  std::string name = folder + "/motley-samples-XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

Result<std::shared_ptr<SpillFile>> SpillFile::Create() {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::temp_directory_path(error);
  if (error) {
    return Status::NotFound(
        "TMPDIR, the folder for samples that do not fit into memory, is not a folder: " +
        error.message());
  }
  std::string folder = found.string();
  const int fd = OpenNameless(folder);
  if (fd < 0) return Failed("put into", folder);
  return std::shared_ptr<SpillFile>(new SpillFile(fd, std::move(folder)));
}

SpillFile::~SpillFile() { close(fd_); }

Result<uint64_t> SpillFile::Append(BytesView bytes) {
  const uint64_t begin = size_;
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("written to", folder_);
    size_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return begin;
}

Status SpillFile::ReadAt(uint64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read back from", folder_);
    if (got == 0) {
      return Status::Internal(
          fmt::format("the file for samples in {} ends at {}", folder_, offset));
    }
    offset += static_cast<uint64_t>(got);
    to = to.subspan(static_cast<size_t>(got));
  }
  return Status::Ok();
}

}  // namespace motley
