// SPDX-License-Identifier: Apache-2.0
// Writes one shard file, under a temporary name in its folder.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "checkpoint/shard_format.h"
#include "checkpoint/store/store.h"

namespace motley {

class ShardWriter {
 public:
  // Creates the file and writes the header. The folder must exist. An old file of the temporary
  // name is removed.
  static Result<ShardWriter> Begin(Store& store, const ShardHeader& header);

  // Appends the next stripe's block.
  Status AddBlock(BytesView block);
  // Call it after the last block: writes the footer and syncs the file.
  Status Finish();
  // Renames the file to its final name, which survives a power cut once the folder is synced.
  Status Publish();
  // Removes the file in any state. If that fails, the next writer removes it.
  void Discard();

  const ShardHeader& header() const { return header_; }

 private:
  ShardWriter(Store& store, const ShardHeader& header) : store_(&store), header_(header) {}
  Status Append(BytesView bytes);

  Store* store_;
  ShardHeader header_;
  std::unique_ptr<StoreFile> file_;
  HashStream content_;
  uint64_t next_stripe_ = 0;
};

// Removes the mark and syncs its folder. OK if there is no mark.
Status RemoveWritingMark(Store& store, uint32_t shard, uint64_t step);

}  // namespace motley
