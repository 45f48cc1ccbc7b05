// SPDX-License-Identifier: Apache-2.0
// Sends partitions of the data to a worker that will hold them. Loop thread only.
//
// Back-pressure: the feed encodes and queues a worker's next partition, whole, while less than
// kFeedWindow bytes of earlier ones are queued. So at most that and one partition are queued per
// worker. The rest wait here, not yet encoded. Workers that want the same block share one encoding
// while it is being sent to any of them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "data/data_source.h"
#include "data/index_source.h"
#include "runtime/alive.h"
#include "transport/transport.h"

namespace motley {

inline constexpr size_t kFeedWindow = size_t{32} << 20;
// A block travels in pieces, so that control never waits behind a large one.
inline constexpr uint32_t kBlockPieceBytes = 1u << 20;
// Largest encoded block that a worker accepts.
inline constexpr uint64_t kMaxBlockBytes = uint64_t{1} << 31;

// kInvalidArgument if a partition of this many bytes is too large to be sent. The message says what
// to do.
Status CheckBlockBytes(uint64_t bytes);

// The encoded partitions of a job, made when they are sent.
class PartitionBlocks {
 public:
  // `sizes` are the samples in each partition, contiguous in `data`, which is borrowed.
  PartitionBlocks(const DataSource& data, const std::vector<uint32_t>& sizes);

  bool has_samples() const { return !CallerOwned(data_.shape()); }
  // Returns errors of the source, and kInvalidArgument if no worker would accept the block.
  Result<std::shared_ptr<const Bytes>> Get(PartitionId partition);

 private:
  const DataSource& data_;
  std::vector<size_t> begins_;  // The first sample of each partition, and the end of the last.
  std::map<PartitionId, std::weak_ptr<const Bytes>> blocks_;
};

class PartitionFeed {
 public:
  using Failed = std::function<void(const Status&)>;

  // `header` has the job and the incarnation. `failed` runs when a block cannot be made.
  PartitionFeed(Transport& transport, PartitionBlocks& blocks, PeerId peer, const Header& header,
                Failed failed)
      : transport_(transport),
        blocks_(blocks),
        peer_(peer),
        header_(header),
        failed_(std::move(failed)) {}

  // Announces the partitions and sends them in this order. Samples that the job's caller has are
  // only announced.
  void Place(const std::vector<PartitionId>& partitions);

 private:
  void Feed();
  Status SendBlock(PartitionId partition);

  Transport& transport_;
  PartitionBlocks& blocks_;
  const PeerId peer_;
  const Header header_;
  const Failed failed_;
  std::deque<PartitionId> waiting_;
  size_t queued_bytes_ = 0;
  bool feeding_ = false;
  Alive alive_;
};

}  // namespace motley
