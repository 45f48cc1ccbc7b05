// SPDX-License-Identifier: Apache-2.0
// A Store in memory that can fail as disks do. If a file was not synced, a power cut may keep any
// part of the appended bytes, with sectors lost or torn in any order. If a folder was not synced,
// each of its names may be the old or the new one. Everything that was synced stays.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "checkpoint/store/store.h"

namespace motley {

// For one thread. The same calls with the same seed leave the same bytes.
class SimStore final : public Store {
 public:
  static constexpr size_t kSectorBytes = 512;

  // What fails from now on. Every such failure is kResource.
  struct Faults {
    // The power goes after this many more calls that change something (appends, syncs, names). The
    // next such call and all later ones fail until PowerOn.
    std::optional<uint64_t> cut_power_after;
    // After this many more calls that change something, one call fails, as by a disk error.
    std::optional<uint64_t> fail_operation_after;
    // After this many more Reads and Lists, one fails.
    std::optional<uint64_t> fail_read_after;
    // Appends fail once the store holds this many bytes; nullopt: no limit.
    std::optional<uint64_t> capacity;
    // Reads and Lists of paths that begin with this fail; "": none fail.
    std::string unreadable;
    // The same for all calls that change something, as by a full or broken disk behind a path.
    std::string unwritable;
    bool locked_elsewhere = false;  // Pretends that another program has the lock.
    bool locks_nothing = false;     // Behaves like a file system that cannot lock folders.
  };

  explicit SimStore(uint64_t seed);
  ~SimStore() override;

  bool powered() const { return powered_; }
  // Calls that changed something, and calls that read.
  uint64_t operations() const { return operations_; }
  uint64_t reads() const { return reads_; }
  // Cuts the power if it is still on, and comes back with contents that a disk might have kept.
  void PowerOn();
  // Like PowerOn after the death of the program alone: everything that was written is there, but
  // bytes that were not synced may still be lost in a later power cut.
  void Restart();

  uint64_t stored_bytes() const;

  // Both damage an existing file; kNotFound if there is no such file or bit.
  Status FlipBit(const std::string& path, uint64_t bit);
  Status Truncate(const std::string& path, uint64_t size_bytes);
  Result<uint64_t> Size(const std::string& path) const;  // In bytes.
  // Removes the folder with everything in it.
  void RemoveFolder(const std::string& folder);
  // The paths of all files, in ascending order.
  std::vector<std::string> Files() const;

  Result<std::unique_ptr<StoreFile>> Create(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status SyncFolder(const std::string& folder) override;
  Result<size_t> Read(const std::string& path, uint64_t offset, std::span<std::byte> to) override;
  Result<std::vector<StoreEntry>> List(const std::string& folder) override;
  Status MakeFolder(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status Lock() override;
  bool LocksNothing() const override { return faults.locks_nothing; }
  std::string Describe(const std::string& path) const override;

  Faults faults;

 private:
  struct Content;  // A file's bytes, and how many of them are on the disk.
  struct Folder;   // The names that programs see, and those on the disk.
  class File;
  using ContentPtr = std::shared_ptr<Content>;

  // Call at the start of each operation that changes something.
  Status Step(const std::string& what, const std::string& path);
  // Call at the start of each operation that reads.
  Status ReadStep(const std::string& what, const std::string& path);
  Result<ContentPtr> Find(const std::string& path) const;
  // The folder that holds `path`; kNotFound if there is none.
  Result<Folder*> FolderFor(const std::string& path);
  void Crash(Content& content);
  void Crash(Folder& folder);

  Random random_;
  std::map<std::string, Folder> folders_;  // By path; "" always exists.
  uint64_t operations_ = 0;
  uint64_t reads_ = 0;
  uint64_t life_ = 0;  // Counts restarts. Files that were opened before one cannot be written.
  bool powered_ = true;
};

}  // namespace motley
