// SPDX-License-Identifier: Apache-2.0
// Sends partitions of the data to the workers that will hold them. Loop thread only.
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
#include <vector>

#include "base/ids.h"
#include "data/data_source.h"
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

class PartitionFeed {
 public:
  using Failed = std::function<void(const Status&)>;

  // `sizes` are the samples in each partition, contiguous in `data`, which is borrowed. `failed`
  // runs when the samples of a partition cannot be read, or no worker would accept them.
  PartitionFeed(Transport& transport, const DataSource& data, const std::vector<uint32_t>& sizes,
                uint32_t workers, Failed failed);

  // Announces the partitions and sends them in this order. Samples that the job's caller has are
  // only announced. `header` has the job and the incarnation.
  void Place(WorkerId worker, PeerId peer, const Header& header,
             const std::vector<PartitionId>& partitions);
  void Forget(WorkerId worker);

 private:
  struct Seat {
    PeerId peer = 0;
    Header header;
    std::deque<PartitionId> waiting;
    size_t queued_bytes = 0;
    bool feeding = false;
    uint64_t life = 0;  // Changes when the worker is lost, so that old sends do not count.
  };

  void Feed(WorkerId worker);
  Status SendBlock(WorkerId worker, PartitionId partition);
  Result<std::shared_ptr<const Bytes>> Block(PartitionId partition);

  Transport& transport_;
  const DataSource& data_;
  std::vector<size_t> begins_;  // The first sample of each partition, and the end of the last.
  std::map<PartitionId, std::weak_ptr<const Bytes>> blocks_;
  std::vector<Seat> seats_;
  Failed failed_;
  Alive alive_;
};

}  // namespace motley
