// SPDX-License-Identifier: Apache-2.0
// One shard file while it is written, under a temporary name in its folder.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "checkpoint/shard_format.h"
#include "checkpoint/store/store.h"

namespace motley {

class ShardWriter {
 public:
  // Starts with the header. The folder is there; a leftover of the temporary name goes.
  static Result<ShardWriter> Begin(Store& store, const ShardHeader& header);

  // The next stripe's block.
  Status AddBlock(BytesView block);
  // After the last block: the footer, and everything is on the disk, if not under its name.
  Status Finish();
  // Under its name, which survives a power cut once the folder is synced.
  Status Publish();
  // Gone, whatever has happened; failures to remove it are left to the next writer.
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

// For good, with all names in its folder. Fine where there is none.
Status RemoveWritingMark(Store& store, uint32_t shard, uint64_t step);

}  // namespace motley
