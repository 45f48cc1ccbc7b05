// SPDX-License-Identifier: Apache-2.0
#include "data/files/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "data/files/byte_stream.h"
#include "data/readers.h"

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

// A Status for the current errno of an operation on `path`.
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

// A new file's name is safe on disk only after its folder was synced.
Status SyncFolder(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  FileDescriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError("cannot open the folder", folder);
  // Some file systems cannot sync a folder and return EINVAL; nothing else can be done there.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return SystemError("cannot sync", folder);
  return Status::Ok();
}

// `mode`: permissions of the file to be replaced; without it the umask decides.
Status WriteNewFile(const std::string& path, std::optional<mode_t> mode,
                    std::span<const BytesView> pieces) {
  unlink(path.c_str());  // Removes the leftover of an interrupted run.
  // The file is created unreadable to others until it has the old file's permissions.
  const mode_t first = mode ? S_IRUSR | S_IWUSR : 0666;
  FileDescriptor fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, first));
  if (fd.get() < 0) return SystemError("cannot create", path);
  if (mode && fchmod(fd.get(), *mode) != 0) return SystemError("cannot set the mode of", path);
  for (const BytesView piece : pieces) MOTLEY_RETURN_IF_ERROR(WriteAll(fd.get(), piece, path));
  if (fsync(fd.get()) != 0) return SystemError("cannot sync", path);
  if (fd.Close() != 0) return SystemError("cannot close", path);
  return Status::Ok();
}

// Two threads may write to one target at the same time, so names are unique; the last rename wins.
std::string TemporaryFor(const std::string& target) {
  return fmt::format("{}.{}.{}.tmp", target, getpid(), gettid());
}

std::optional<mode_t> ModeOf(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return info.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
}

// Follows `path` while it is a link. The final file need not exist.
Result<std::string> FollowLinks(std::string path) {
  constexpr int kMostLinks = 40;  // The limit of Linux.
  for (int i = 0; i <= kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path link(path);
    if (!std::filesystem::is_symlink(link, error)) return path;
    const std::filesystem::path next = std::filesystem::read_symlink(link, error);
    if (error) return Status::Resource(fmt::format("cannot read {}: {}", path, error.message()));
    path = (link.parent_path() / next).string();  // An absolute `next` replaces the folder.
  }
  return Status::InvalidArgument(path + ": the symbolic links lead in a circle");
}

}  // namespace

namespace {

// Reads first what the reader has already buffered.
class ReaderStream final : public ByteStream {
 public:
  explicit ReaderStream(std::unique_ptr<StreamReader> reader) : reader_(std::move(reader)) {}
  Result<size_t> Read(std::span<char> to) override { return reader_->Read(to); }

 private:
  std::unique_ptr<StreamReader> reader_;
};

class FileStream final : public ByteStream {
 public:
  FileStream(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Result<size_t> Read(std::span<char> to) override {
    while (true) {
      const ssize_t got = read(fd_.get(), to.data(), to.size());
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) return SystemError("cannot read", path_);
    }
  }

 private:
  FileDescriptor fd_;
  std::string path_;
};

Result<std::unique_ptr<ByteStream>> OpenRawStream(const std::string& path) {
  const bool input = path == "-";
  const int fd =
      input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError("cannot open", input ? "the standard input" : path);
  auto stream = std::make_unique<FileStream>(fd, path);
  struct stat info {};
  if (fstat(fd, &info) != 0) return SystemError("cannot look at", path);
  if (S_ISDIR(info.st_mode)) {
    return Status::InvalidArgument(path + ": is a folder where a file is needed");
  }
  return std::unique_ptr<ByteStream>(std::move(stream));
}

Result<std::string> ReadToEnd(ByteStream& stream) {
  constexpr size_t kStep = size_t{1} << 20;
  std::string content;
  while (true) {
    const size_t size = content.size();
    content.resize(size + std::max(kStep, size / 2));
    const auto got = stream.Read(std::span<char>(content).subspan(size));
    if (!got.ok()) return got.status();
    content.resize(size + *got);
    if (*got == 0) return content;
  }
}

}  // namespace

Result<std::unique_ptr<ByteStream>> OpenFileStream(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> raw, OpenRawStream(path));
  auto reader = std::make_unique<StreamReader>(std::move(raw));
  MOTLEY_ASSIGN_OR_RETURN(const std::string_view head, reader->Peek(2));
  const bool packed = head == "\x1f\x8b";
  auto whole = std::make_unique<ReaderStream>(std::move(reader));
  if (!packed) return std::unique_ptr<ByteStream>(std::move(whole));
  return MakeGunzipStream(std::move(whole), path);
}

Result<std::string> ReadRawFile(const std::string& path) {
  return WithinMemory(path, [&]() -> Result<std::string> {
    MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenRawStream(path));
    return ReadToEnd(*stream);
  });
}

Result<std::string> ReadFile(const std::string& path) {
  return WithinMemory(path, [&]() -> Result<std::string> {
    MOTLEY_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> stream, OpenFileStream(path));
    return ReadToEnd(*stream);
  });
}

Result<std::string> ReplaceTarget(const std::string& path) {
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (!exists && errno != ENOENT && errno != ELOOP) return SystemError("cannot look at", path);
  if (exists && !S_ISREG(info.st_mode)) {
    return Status::InvalidArgument(path + ": not a regular file, so it is not replaced");
  }
  MOTLEY_ASSIGN_OR_RETURN(std::string target, FollowLinks(path));
  struct stat found {};
  // A link of /proc/self/fd may name a file that was deleted. A path that is not a link may be
  // replaced meanwhile by another thread, and is not refused.
  if (exists && target != path &&
      (lstat(target.c_str(), &found) != 0 || found.st_ino != info.st_ino ||
       found.st_dev != info.st_dev)) {
    return Status::InvalidArgument(
        fmt::format("{}: links to {}, which was replaced meanwhile", path, target));
  }
  return target;
}

Status CheckReplaceable(const std::string& path) {
  MOTLEY_ASSIGN_OR_RETURN(const std::string target, ReplaceTarget(path));
  const std::string temporary = TemporaryFor(target);
  const Status status = WriteNewFile(temporary, std::nullopt, {});
  unlink(temporary.c_str());
  return status;
}

namespace {

Status ReplaceFile(const std::string& path, std::optional<mode_t> mode,
                   std::span<const BytesView> pieces) {
  const std::string not_written = path + " was not written";
  const Result<std::string> target = ReplaceTarget(path);
  if (!target.ok()) return target.status().WithContext(not_written);
  const std::string temporary = TemporaryFor(*target);
  Status status = WriteNewFile(temporary, mode ? mode : ModeOf(*target), pieces);
  if (status.ok() && rename(temporary.c_str(), target->c_str()) != 0) {
    status = SystemError("cannot replace", *target);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status.WithContext(not_written);
  }
  return SyncFolder(*target);
}

}  // namespace

Status WriteFileAtomically(const std::string& path, std::span<const BytesView> pieces) {
  return ReplaceFile(path, std::nullopt, pieces);
}

Status WritePrivateFile(const std::string& path, const std::string& content) {
  const BytesView bytes = AsBytes(content);
  return ReplaceFile(path, S_IRUSR | S_IWUSR, std::span(&bytes, 1));
}

}  // namespace motley
