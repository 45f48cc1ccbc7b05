// SPDX-License-Identifier: Apache-2.0
// A Store in memory that fails as disks do when told to. Until a file is synced, a power cut may
// keep any part of what was appended, with sectors lost or torn in any order; until its folder is
// synced, the names in it may be the old or the new ones, each by itself. What was synced stays.
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

// One thread. Deterministic: the same calls under the same seed leave the same bytes.
class SimStore final : public Store {
 public:
  static constexpr size_t kSectorBytes = 512;

  explicit SimStore(uint64_t seed);
  ~SimStore() override;

  // After `operations` more calls that change something (appends, syncs, names), the power goes:
  // that call and all later ones fail with kResource until PowerOn.
  void CutPowerAfter(uint64_t operations);
  bool powered() const { return powered_; }
  uint64_t operations() const { return operations_; }
  // Cuts the power if it is still on; comes back with what a disk might have kept.
  void PowerOn();
  // As PowerOn, but only the program had died: all that was written is there, though what was not
  // synced is no safer than before.
  void Restart();

  // Appends fail with kResource once this many bytes are stored in all; none: no limit.
  void SetCapacity(std::optional<uint64_t> size_bytes) { capacity_ = size_bytes; }
  uint64_t stored_bytes() const;
  // This many calls from now one fails, once, with kResource, as a disk error does.
  void FailOperationAfter(uint64_t operations) { fail_at_ = operations_ + operations; }
  // This many Reads and Lists from now one fails, once, with kResource.
  void FailReadAfter(uint64_t reads) { fail_read_at_ = reads_ + reads; }
  // From now on Reads and Lists of what begins with `path` fail with kResource; "": none any more.
  void FailReadsOf(std::string path) { unreadable_ = std::move(path); }
  // The same of all calls that change something, which a full or broken disk behind a path does.
  void FailWritesOf(std::string path) { unwritable_ = std::move(path); }
  uint64_t reads() const { return reads_; }
  // As if another program had the lock.
  void LockElsewhere(bool locked) { locked_elsewhere_ = locked; }
  // As on a file system that locks no folders.
  void LockNothing() { locks_nothing_ = true; }

  // Damage, on what is there: kNotFound for what is not.
  Status FlipBit(const std::string& path, uint64_t bit);
  Status Truncate(const std::string& path, uint64_t size_bytes);
  Result<uint64_t> Size(const std::string& path) const;  // In bytes.
  // Everything in it and below.
  void RemoveFolder(const std::string& folder);
  // Paths of all files, ascending.
  std::vector<std::string> Files() const;

  Result<std::unique_ptr<StoreFile>> Create(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status SyncFolder(const std::string& folder) override;
  Result<size_t> Read(const std::string& path, uint64_t offset, std::span<std::byte> to) override;
  Result<std::vector<StoreEntry>> List(const std::string& folder) override;
  Status MakeFolder(const std::string& path) override;
  Status Remove(const std::string& path) override;
  Status Lock() override;
  bool LocksNothing() const override { return locks_nothing_; }
  std::string Describe(const std::string& path) const override;

 private:
  struct Content;  // A file's bytes, and which of them are on the disk.
  struct Folder;   // Names as seen, and as a disk would have them.
  class File;
  using ContentPtr = std::shared_ptr<Content>;

  // Before each call that changes something.
  Status Step(const std::string& what, const std::string& path);
  // Before each call that reads.
  Status ReadStep(const std::string& what, const std::string& path);
  Result<ContentPtr> Find(const std::string& path) const;
  // The folder of `path`, which is there.
  Result<Folder*> FolderFor(const std::string& path);
  void Crash(Content& content);
  void Crash(Folder& folder);

  Random random_;
  std::map<std::string, Folder> folders_;  // By path; "" is there always.
  std::optional<uint64_t> capacity_;
  std::optional<uint64_t> cut_at_;
  std::optional<uint64_t> fail_at_;
  std::optional<uint64_t> fail_read_at_;
  std::string unreadable_;
  std::string unwritable_;
  uint64_t operations_ = 0;
  uint64_t reads_ = 0;
  bool locked_elsewhere_ = false;
  bool locks_nothing_ = false;
  uint64_t life_ = 0;  // Files opened before a power cut cannot be written after it.
  bool powered_ = true;
};

}  // namespace motley
