// SPDX-License-Identifier: Apache-2.0
// Finds the shard files in a store, and groups them by their headers.
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
  std::string problem;      // Problem found by header and size; empty: none.
  Status unread;            // The header or folder could not be read for this reason.
  uint64_t size_bytes = 0;  // Size of the file that is there.
  bool usable = false;      // Its blocks may belong to this checkpoint.
  bool cut = false;         // It is usable and too short for all of its blocks.
  bool whole = false;       // Header and size are right.
  bool marked = false;      // It is there, beside the mark of an unfinished write.
};

// One checkpoint: the shards with equal headers, and whatever is in the places of the others.
struct ShardSet {
  ShardHeader header;              // Equal in all shards but for `shard`.
  std::vector<ShardPlace> places;  // One for each of k + m shards.

  uint32_t Whole() const;
  bool LooksRestorable() const;  // At least k are usable and long enough for the last stripe.
  // True for an interrupted, never acknowledged write: it does not look restorable, and each usable
  // shard has its mark.
  bool IsUnfinished() const;
};

// An existing shard file.
struct ShardFile {
  std::string path;
  uint32_t folder = 0;
  uint64_t step = 0;                  // From its name.
  std::optional<ShardHeader> header;  // None: damaged, or not read.
  Status unread;                      // Reason why it was not read.
  bool marked = false;                // See ShardPlace::marked.
};

// The mark of an unfinished or interrupted write.
struct WritingMark {
  uint32_t folder = 0;
  uint64_t step = 0;
};

struct ShardScan {
  std::vector<ShardSet> sets;  // By step, newest first; for equal steps the most complete first.
  std::vector<uint64_t> headless_steps;  // Steps with files, but no readable header.
  std::vector<ShardFile> files;          // By step, newest first, then by folder.
  std::vector<WritingMark> marks;
  std::vector<std::string> leftovers;   // Paths of leftovers of interrupted writes.
  std::vector<std::string> orphans;     // Paths of files that were moved aside.
  std::map<uint32_t, Status> unlisted;  // Folders that could not be listed, with reasons.
  std::vector<uint32_t> folders;        // Numbers of existing folders.
  std::string newer_version;  // Reason why a file of a newer format could not be read, or "".
};

// Reads every header. Files that cannot be read count as missing or damaged shards, with their
// reasons. The only error is a root that cannot be listed.
Result<ShardScan> ScanShards(Store& store);

// Chooses the checkpoint of `step`, or the newest, and prefers those that look restorable.
// kNotFound lists the steps that exist.
Result<ShardSet> ChooseSet(Store& store, const ShardScan& scan, std::optional<uint64_t> step);

CheckpointInfo InfoOf(const ShardSet& set);

}  // namespace motley
