// SPDX-License-Identifier: Apache-2.0
// Reads a checkpoint stripe by stripe into the memory of one stripe, and rebuilds damaged blocks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/erasure/erasure_code.h"
#include "checkpoint/shard_set.h"

namespace motley {

class StripeReader {
 public:
  // `store` and `set` outlive it. kDataError: the checkpoint was written with another matrix of its
  // code.
  static Result<StripeReader> Open(Store& store, const ShardSet& set);

  const ShardLayout& layout() const { return layout_; }
  // Number of stripes before the end of the longest file, whatever the header says.
  uint64_t stripes_there() const;

  // Reads every block of the stripe; present() says which were right.
  void ReadAll(uint64_t stripe);
  // Reads the data blocks, and parity only if some are missing, then rebuilds data. kNotDecodable:
  // more than m are lost; present() says which.
  Status ReadData(uint64_t stripe);
  // Call it after ReadAll: rebuilds every damaged data block, and recomputes all parity from the
  // data. wrong_parity() then names parity that was intact but did not match. kNotDecodable as for
  // ReadData.
  Status Rebuild();

  // A block of the last stripe read. Valid until the next read.
  BytesView block(uint32_t shard) const { return BytesView(blocks_[shard]).first(size_); }
  const std::vector<bool>& present() const { return present_; }
  // By shard, after Rebuild: the block was intact but is not the parity of this stripe's data.
  const std::vector<bool>& wrong_parity() const { return wrong_parity_; }

  // By shard: numbers of intact and damaged blocks in all stripes read so far.
  uint64_t used(uint32_t shard) const { return used_[shard]; }
  uint64_t lost(uint32_t shard) const { return lost_[shard]; }
  // The first failure to read, of all shards or of one. It says nothing about what is on the disk.
  const Status& read_error() const { return read_error_; }
  const Status& read_error(uint32_t shard) const { return read_errors_[shard]; }

 private:
  StripeReader(Store& store, const ShardSet& set, ErasureCode code);
  void AddReadError(uint32_t shard, const Status& why);
  // Sets present_ to whether the block was intact.
  void ReadBlock(uint32_t shard, uint64_t stripe);
  bool BlockIsRight(uint32_t shard, uint64_t stripe);
  std::vector<std::span<std::byte>> Spans();

  Store* store_;
  const ShardSet* set_;
  ErasureCode code_;
  ShardLayout layout_;
  std::vector<Bytes> blocks_;  // Each has room for its checksum.
  std::vector<Bytes> parity_;  // Recomputed parity.
  std::vector<bool> present_;
  std::vector<bool> wrong_parity_;
  std::vector<uint64_t> used_;
  std::vector<uint64_t> lost_;
  Status read_error_;
  std::vector<Status> read_errors_;
  size_t size_ = 0;
};

}  // namespace motley
