// SPDX-License-Identifier: Apache-2.0
// Reads a checkpoint stripe by stripe into one stripe's memory, and rebuilds what is not right.
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
  // `store` and `set` outlive it. kDataError when the code's matrix is not the one it was written
  // with.
  static Result<StripeReader> Open(Store& store, const ShardSet& set);

  const ShardLayout& layout() const { return layout_; }
  // Stripes from this one on lie behind the end of every file, whatever the header says.
  uint64_t stripes_there() const;

  // Reads every block of the stripe; present() says which were right.
  void ReadAll(uint64_t stripe);
  // Reads data blocks, and parity only for want of them, then rebuilds data. kNotDecodable when
  // more than m are lost, present() saying which.
  Status ReadData(uint64_t stripe);
  // After ReadAll: rebuilds whatever is not right, and parity anew from the data, so that it is
  // right even where present() parity was not: wrong_parity(). kNotDecodable as above.
  Status Rebuild();

  // Of the stripe read last. Valid until the next is.
  BytesView block(uint32_t shard) const { return BytesView(blocks_[shard]).first(size_); }
  const std::vector<bool>& present() const { return present_; }
  // By shard: present, but not the parity of this stripe's data. After Rebuild.
  const std::vector<bool>& wrong_parity() const { return wrong_parity_; }

  // Of all stripes read so far, by shard: blocks that were right, and those that were not.
  uint64_t used(uint32_t shard) const { return used_[shard]; }
  uint64_t lost(uint32_t shard) const { return lost_[shard]; }
  // The first failure to read at all, which says nothing about what is on the disk; of all shards,
  // or of one.
  const Status& read_error() const { return read_error_; }
  const Status& read_error(uint32_t shard) const { return read_errors_[shard]; }

 private:
  StripeReader(Store& store, const ShardSet& set, ErasureCode code);
  void AddReadError(uint32_t shard, const Status& why);
  // Leaves in present_ whether it was right.
  void ReadBlock(uint32_t shard, uint64_t stripe);
  bool BlockIsRight(uint32_t shard, uint64_t stripe);
  std::vector<std::span<std::byte>> Spans();

  Store* store_;
  const ShardSet* set_;
  ErasureCode code_;
  ShardLayout layout_;
  std::vector<Bytes> blocks_;  // Each with room for its checksum.
  std::vector<Bytes> parity_;  // Coded again.
  std::vector<bool> present_;
  std::vector<bool> wrong_parity_;
  std::vector<uint64_t> used_;
  std::vector<uint64_t> lost_;
  Status read_error_;
  std::vector<Status> read_errors_;
  size_t size_ = 0;
};

}  // namespace motley
