// SPDX-License-Identifier: Apache-2.0
#include "training/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace motley {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  int Close() {
    const int result = fd_ < 0 ? 0 : close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

// What errno says about `path`, as a Status.
Status SystemError(const std::string& what, const std::string& path) {
  const int error = errno;
  std::string message =
      fmt::format("{} {}: {}", what, path, std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR: return Status::NotFound(std::move(message));
    case EACCES:
    case EPERM:
    case EROFS: return Status::Permission(std::move(message));
    case EISDIR:
    case ENAMETOOLONG: return Status::InvalidArgument(std::move(message));
    default: return Status::Resource(std::move(message));
  }
}

Status WriteAll(int fd, BytesView bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError("cannot write", path);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return Status::Ok();
}

// A new file's name is only safe on disk once its folder is.
Status SyncFolder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  FileDescriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError("cannot open the folder", folder);
  // Some file systems cannot sync a folder and say EINVAL; they have no other way to be asked.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return SystemError("cannot sync", folder);
  return Status::Ok();
}

Status WriteNewFile(const std::string& path, std::span<const BytesView> pieces) {
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (fd.get() < 0) return SystemError("cannot create", path);
  for (const BytesView piece : pieces) MOTLEY_RETURN_IF_ERROR(WriteAll(fd.get(), piece, path));
  if (fsync(fd.get()) != 0) return SystemError("cannot sync", path);
  if (fd.Close() != 0) return SystemError("cannot close", path);
  return Status::Ok();
}

}  // namespace

Result<std::string> ReadRawFile(const std::string& path) {
  FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError("cannot open", path);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return SystemError("cannot look at", path);
  if (S_ISDIR(info.st_mode)) {
    return Status::InvalidArgument(path + ": is a folder where a file is needed");
  }
  return WithinMemory(path, [&]() -> Result<std::string> {
    constexpr size_t kStep = size_t{1} << 20;
    std::string content;
    // The size is a hint only: pipes have none, and files grow.
    content.reserve(static_cast<size_t>(info.st_size) + 1);
    while (true) {
      const size_t size = content.size();
      content.resize(content.capacity() > size ? content.capacity() : size + kStep);
      const ssize_t got = read(fd.get(), content.data() + size, content.size() - size);
      content.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return SystemError("cannot read", path);
      if (got == 0) return content;
    }
  });
}

Status WriteFileAtomically(const std::string& path, std::span<const BytesView> pieces) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  Status status = WriteNewFile(temporary, pieces);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = SystemError("cannot replace", path);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status.WithContext(path + " was not written");
  }
  return SyncFolder(path);
}

}  // namespace motley
