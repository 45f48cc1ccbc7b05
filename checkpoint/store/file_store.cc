// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/store/file_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "checkpoint/store/store_path.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

// A Status for a system error on `path`.
Status SystemError(const std::string& what, const std::string& path, int error) {
  std::string message =
      fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR: return Status::NotFound(std::move(message));
    case EEXIST: return Status::Conflict(std::move(message));
    case EACCES:
    case EPERM:
    case EROFS: return Status::Permission(std::move(message));
    case EISDIR:
    case ENAMETOOLONG: return Status::InvalidArgument(std::move(message));
    case ENOSPC:
    case EDQUOT: return Status::Resource(message + "; free some space or choose another folder");
    default: return Status::Resource(std::move(message));
  }
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};

// Opens for reading. Only regular files: opening a FIFO, or reading a device, could block forever.
Result<Descriptor> OpenRegular(const std::string& full) {
  Descriptor fd(open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const bool is_socket = fd.get() < 0 && errno == ENXIO;
  if (fd.get() < 0 && !is_socket) return SystemError("open", full, errno);
  struct stat info {};
  if (!is_socket && fstat(fd.get(), &info) != 0) return SystemError("look at", full, errno);
  if (!is_socket && S_ISREG(info.st_mode)) return fd;
  return Status::NotFound(full + " is not a regular file");
}

class WrittenFile final : public StoreFile {
 public:
  WrittenFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status Append(BytesView bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return SystemError("write", path_, errno);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return Status::Ok();
  }

  Status Sync() override {
    if (fsync(fd_.get()) != 0) return SystemError("sync", path_, errno);
    // Makes reading back use the disk and not the page cache. It is only a hint.
    (void)posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_DONTNEED);
    return Status::Ok();
  }

 private:
  Descriptor fd_;
  std::string path_;
};

Status SyncFolderAt(const std::string& full) {
  const Descriptor fd(open(full.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) return SystemError("open the folder", full, errno);
  // Some file systems cannot sync a folder and return EINVAL; nothing else can be done there.
  if (fsync(fd.get()) != 0 && errno != EINVAL) return SystemError("sync", full, errno);
  return Status::Ok();
}

// Creates `full` and its missing parents, and syncs the folder above each, because syncing a folder
// does not make its own name durable.
Status MakeFoldersAt(const std::string& full) {
  std::error_code error;
  fs::path path = fs::absolute(full, error).lexically_normal();
  if (error) return SystemError("make the folder", full, error.value());
  if (!path.has_filename()) path = path.parent_path();  // Turns "a/" into "a".
  std::vector<fs::path> missing;
  for (; !fs::exists(path, error) && path.has_relative_path(); path = path.parent_path()) {
    if (error) return SystemError("make the folder", path.string(), error.value());
    missing.push_back(path);
  }
  for (auto it = missing.rbegin(); it != missing.rend(); ++it) {
    if (mkdir(it->c_str(), 0777) != 0 && errno != EEXIST) {
      return SystemError("make the folder", it->string(), errno);
    }
    MOTLEY_RETURN_IF_ERROR(SyncFolderAt(it->parent_path().string()));
  }
  return Status::Ok();
}

class FileStore final : public Store {
 public:
  explicit FileStore(std::string root) : root_(std::move(root)) {}

  Result<std::unique_ptr<StoreFile>> Create(const std::string& path) override {
    MOTLEY_ASSIGN_OR_RETURN(std::string full, Full(path));
    Descriptor fd(open(full.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (fd.get() < 0) return SystemError("create", full, errno);
    return std::unique_ptr<StoreFile>(new WrittenFile(std::move(fd), std::move(full)));
  }

  Status Rename(const std::string& from, const std::string& to) override {
    MOTLEY_ASSIGN_OR_RETURN(const std::string source, Full(from));
    MOTLEY_ASSIGN_OR_RETURN(const std::string target, Full(to));
    if (rename(source.c_str(), target.c_str()) == 0) return Status::Ok();
    return SystemError("rename to " + target, source, errno);
  }

  Status SyncFolder(const std::string& folder) override {
    MOTLEY_ASSIGN_OR_RETURN(const std::string full, Full(folder));
    return SyncFolderAt(full);
  }

  Result<size_t> Read(const std::string& path, uint64_t offset, std::span<std::byte> to) override {
    MOTLEY_ASSIGN_OR_RETURN(const std::string full, Full(path));
    MOTLEY_ASSIGN_OR_RETURN(const Descriptor fd, OpenRegular(full));
    size_t filled = 0;
    while (filled < to.size()) {
      const ssize_t got = pread(fd.get(), to.data() + filled, to.size() - filled,
                                static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return SystemError("read", full, errno);
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    return filled;
  }

  Result<std::vector<StoreEntry>> List(const std::string& folder) override {
    MOTLEY_ASSIGN_OR_RETURN(const std::string full, Full(folder));
    // The standard library's iterator ends the process when out of memory.
    const std::unique_ptr<DIR, CloseFolder> open(opendir(full.c_str()));
    if (open == nullptr) return SystemError("list", full, errno);
    std::vector<StoreEntry> entries;
    while (true) {
      errno = 0;
      const dirent* found = readdir(open.get());
      if (found == nullptr && errno != 0) return SystemError("list", full, errno);
      if (found == nullptr) break;
      StoreEntry entry{.name = found->d_name};
      if (entry.name == "." || entry.name == "..") continue;
      struct stat info {};
      // It was removed meanwhile, or is a broken link.
      if (fstatat(dirfd(open.get()), found->d_name, &info, 0) != 0) continue;
      entry.is_folder = S_ISDIR(info.st_mode);
      if (!entry.is_folder) entry.size_bytes = static_cast<uint64_t>(info.st_size);
      entries.push_back(std::move(entry));
    }
    std::sort(entries.begin(), entries.end(),
              [](const StoreEntry& a, const StoreEntry& b) { return a.name < b.name; });
    return entries;
  }

  Status MakeFolder(const std::string& path) override {
    MOTLEY_ASSIGN_OR_RETURN(const std::string full, Full(path));
    MOTLEY_RETURN_IF_ERROR(MakeFoldersAt(full));
    struct stat info {};
    if (stat(full.c_str(), &info) != 0) return SystemError("make the folder", full, errno);
    if (S_ISDIR(info.st_mode)) return Status::Ok();
    return Status::Conflict(
        fmt::format("cannot make the folder {}: something else is there", full));
  }

  Status Remove(const std::string& path) override {
    MOTLEY_ASSIGN_OR_RETURN(const std::string full, Full(path));
    if (unlink(full.c_str()) != 0) return SystemError("remove", full, errno);
    return Status::Ok();
  }

  Status Lock() override {
    if (lock_) return Status::Ok();
    Descriptor fd(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) return SystemError("open the folder", root_, errno);
    if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        return Status::Conflict(fmt::format(
            "another program is writing into {}: wait until it has ended, or choose another folder",
            root_));
      }
      // Some network file systems cannot lock folders; there the owner must prevent two writers.
      const bool cannot = errno == EBADF || errno == EINVAL || errno == ENOLCK ||
                          errno == EOPNOTSUPP || errno == ENOSYS;
      if (!cannot) return SystemError("lock", root_, errno);
      locks_nothing_ = true;
    }
    lock_.emplace(std::move(fd));
    return Status::Ok();
  }

  bool LocksNothing() const override { return locks_nothing_; }

  std::string Describe(const std::string& path) const override {
    return path.empty() ? root_ : (fs::path(root_) / path).string();
  }

 private:
  Result<std::string> Full(const std::string& path) const {
    MOTLEY_RETURN_IF_ERROR(CheckStorePath(path));
    return Describe(path);
  }

  std::string root_;
  std::optional<Descriptor> lock_;  // Closing it unlocks.
  bool locks_nothing_ = false;
};

}  // namespace

Result<std::unique_ptr<Store>> OpenFileStore(const std::string& folder, MissingFolder missing) {
  if (missing == MissingFolder::kCreate) MOTLEY_RETURN_IF_ERROR(MakeFoldersAt(folder));
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0) return SystemError("open the folder", folder, errno);
  if (!S_ISDIR(info.st_mode)) {
    return Status::InvalidArgument(folder + ": is a file where a folder is needed");
  }
  return std::unique_ptr<Store>(new FileStore(folder));
}

}  // namespace motley
