// SPDX-License-Identifier: Apache-2.0
// The seam to files. FileStore in production; SimStore (sim/) loses, tears and reorders what was
// not synced, fills up and flips bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace motley {

// A file that is being written, from its first byte on. Destruction closes it; what was not synced
// by then may or may not be there after a power cut. After any failure the file is lost: write
// another one, never Sync again (a failed fsync may have dropped the very pages it was asked for).
class StoreFile {
 public:
  virtual ~StoreFile() = default;

  // kResource when the disk (or a quota) is full.
  virtual Status Append(BytesView bytes) = 0;
  // What was appended survives a power cut, once the name does: see Store::SyncFolder.
  virtual Status Sync() = 0;
};

struct StoreEntry {
  std::string name;  // Within its folder.
  bool is_folder = false;
  uint64_t size_bytes = 0;  // 0 for folders.
};

// Paths are relative to the store's root, with '/' between their parts; "" is the root. Absolute
// paths and those with "." or ".." in them are kInvalidArgument. Symbolic links are
// followed wherever they lead: the root's owner decides.
// One thread at a time; which one does not matter. Calls block: on a loop, go through Disk.
// Failures: kNotFound for what is not there, kPermission, kResource for a full disk or one that
// cannot read or write, always with the path and what the system said.
class Store {
 public:
  virtual ~Store() = default;

  // A new, empty file. kConflict when the name is taken.
  virtual Result<std::unique_ptr<StoreFile>> Create(const std::string& path) = 0;
  // Replaces `to` in one piece: readers see the old file or the new one. Survives a power cut once
  // the folder is synced.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // The names in `folder` (not deeper) survive a power cut as they are now.
  virtual Status SyncFolder(const std::string& folder) = 0;
  // Fills `to` from byte `offset` on; fewer bytes than it has room for only at the file's end.
  // kNotFound as well for what is no regular file: a FIFO, a device, a folder.
  virtual Result<size_t> Read(const std::string& path, uint64_t offset,
                              std::span<std::byte> to) = 0;
  // By name, ascending. kNotFound only when the folder is not there.
  virtual Result<std::vector<StoreEntry>> List(const std::string& folder) = 0;
  // And its parents. Fine when it is there already. Survives a power cut once the folder that it is
  // in is synced.
  virtual Status MakeFolder(const std::string& path) = 0;
  // A file. kNotFound when it is not there.
  virtual Status Remove(const std::string& path) = 0;
  // Until this Store goes (or the program dies), no other one that asks gets the root: for all who
  // write. Fine when it is held already; kConflict when another program, or another Store of this
  // one, has it.
  virtual Status Lock() = 0;
  // After Lock: nothing keeps others out, because this file system locks no folders.
  virtual bool LocksNothing() const { return false; }
  // For people: "/data/checkpoints/node-03".
  virtual std::string Describe(const std::string& path) const = 0;
};

}  // namespace motley
