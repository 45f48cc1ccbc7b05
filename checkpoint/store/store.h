// SPDX-License-Identifier: Apache-2.0
// The interface to files. FileStore serves production. SimStore (sim/) loses, tears and reorders
// what was not synced, fills up and flips bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"

namespace motley {

// A file that is being written, from its first byte on. Destruction closes it. Data that were not
// synced may be missing after a power cut. After any failure the file is lost: write another one
// and never call Sync again, because a failed fsync may have dropped the very pages it was asked
// for.
class StoreFile {
 public:
  virtual ~StoreFile() = default;

  // kResource: the disk (or a quota) is full.
  virtual Status Append(BytesView bytes) = 0;
  // Makes the content survive a power cut. The name survives after Store::SyncFolder.
  virtual Status Sync() = 0;
};

struct StoreEntry {
  std::string name;  // Name within its folder.
  bool is_folder = false;
  uint64_t size_bytes = 0;  // 0 for folders.
};

// Files below a root. Paths are relative to the root, with '/' between their parts; "" is the root.
// Absolute paths and those with "." or ".." are kInvalidArgument. Symbolic links are followed
// wherever they lead; that is the root owner's decision.
//
// Any thread, one at a time. Calls block; on a loop, use Disk. Errors have the path and the
// system's message: kNotFound, kPermission, or kResource for a disk that is full or cannot read or
// write.
class Store {
 public:
  virtual ~Store() = default;

  // Creates an empty file. kConflict: the name is taken.
  virtual Result<std::unique_ptr<StoreFile>> Create(const std::string& path) = 0;
  // Replaces `to` atomically: readers see the old file or the new one. Survives a power cut once
  // the folder is synced.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // Makes the current names in `folder` (not deeper) survive a power cut.
  virtual Status SyncFolder(const std::string& folder) = 0;
  // Fills `to` from byte `offset` on, and returns fewer bytes only at the file's end. kNotFound:
  // missing, or not a regular file (a FIFO, a device, a folder).
  virtual Result<size_t> Read(const std::string& path, uint64_t offset,
                              std::span<std::byte> to) = 0;
  // Entries by name, ascending. kNotFound: the folder does not exist.
  virtual Result<std::vector<StoreEntry>> List(const std::string& folder) = 0;
  // Creates a folder and its parents; OK if it exists. Survives a power cut once the folder that
  // contains it is synced.
  virtual Status MakeFolder(const std::string& path) = 0;
  // Removes a file. kNotFound: it does not exist.
  virtual Status Remove(const std::string& path) = 0;
  // Locks the root for writing until this Store is destroyed or the program dies. OK if this Store
  // holds the lock already. kConflict: another program, or another Store of this one, holds it.
  virtual Status Lock() = 0;
  // After Lock: true if this file system cannot lock folders, so that others are not kept out.
  virtual bool LocksNothing() const { return false; }
  // A path for messages, like "/data/checkpoints/node-03".
  virtual std::string Describe(const std::string& path) const = 0;
};

}  // namespace motley
