// SPDX-License-Identifier: Apache-2.0
// Which shard files there are, and which belong together, by their headers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/shard_format.h"
#include "checkpoint/store/store.h"

namespace motley {

// The place of one shard of a checkpoint.
struct ShardPlace {
  std::string path;
  std::string problem;      // What is wrong as far as header and size say; empty: nothing.
  Status unread;            // Why that is not known: header or folder could not be read.
  uint64_t size_bytes = 0;  // Of the file that is there.
  bool usable = false;      // Its blocks may be this checkpoint's: worth reading.
  bool whole = false;       // The header is right, and the size.
  bool marked = false;      // It is there, and beside it the mark of a write that has not ended.
};

// One checkpoint: the shards with equal headers, and whatever lies where the others should be.
struct ShardSet {
  ShardHeader header;              // But for `shard`.
  std::vector<ShardPlace> places;  // k + m.

  uint32_t Usable() const;
  uint32_t Whole() const;
  bool LooksRestorable() const;  // At least k are usable.
  // An interrupted write left it, of which nobody had been told: fewer than k usable shards, each
  // of them marked.
  bool IsUnfinished() const;
};

// A shard file that is there.
struct ShardFile {
  std::string path;
  uint32_t folder = 0;
  uint64_t step = 0;                  // As its name says.
  std::optional<ShardHeader> header;  // None: damaged, or not read.
  Status unread;                      // Why it was not read.
  bool marked = false;                // As ShardPlace::marked.
};

// The mark of a write that has not ended, or was interrupted.
struct WritingMark {
  uint32_t folder = 0;
  uint64_t step = 0;
};

struct ShardScan {
  std::vector<ShardSet> sets;  // By step, newest first; of one step the most complete first.
  std::vector<uint64_t> headless_steps;  // Files, but not one readable header.
  std::vector<ShardFile> files;          // By step, newest first, then by folder.
  std::vector<WritingMark> marks;
  std::vector<std::string> leftovers;   // Paths of files that an interrupted write left.
  std::vector<std::string> orphans;     // Paths of files that a writer has moved aside.
  std::map<uint32_t, Status> unlisted;  // Folders that could not be listed, and why.
  std::vector<uint32_t> folders;        // Numbers of those that are there.
  std::string newer_version;            // Why a file of a newer format could not be read, or "".
};

// Reads every header. What cannot be read counts as missing or damaged shards, with its reason;
// only when the root cannot be listed, it is an error.
Result<ShardScan> ScanShards(Store& store);

// The checkpoint of `step`, or the newest one, preferring those that look restorable. kNotFound
// names what there is.
Result<ShardSet> ChooseSet(Store& store, const ShardScan& scan, std::optional<uint64_t> step);

CheckpointInfo InfoOf(const ShardSet& set);

}  // namespace motley
