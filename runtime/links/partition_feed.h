// SPDX-License-Identifier: Apache-2.0
// Sends partitions of the data to a worker that will hold them. Loop thread only.
//
// Data that a step needs are queued like parameters, while less than kFeedWindow bytes of earlier
// ones are queued. Copies give way: a piece of them leaves when the worker lacks less than a piece
// of those before. So few bytes are in front of the next parameters, whatever the buffers between
// the two hold. Copies still travel when parameters fill the link. Needed data overtake copies,
// except for the block that was begun. It then leaves like needed data. A copy that a step comes to
// need is placed again, and is needed data from then on.
//
// Blocks are encoded when they are begun. Workers that want the same block share one encoding while
// it is being sent to any of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "data/data_source.h"
#include "data/index_source.h"
#include "runtime/alive.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

inline constexpr size_t kFeedWindow = size_t{32} << 20;
// A block travels in pieces, so that control never waits behind a large one.
inline constexpr uint32_t kBlockPieceBytes = 1u << 20;
// A piece of a copy takes at most a thirty-second of the time of the parameters that wait behind
// it, unless that is less than this many bytes.
inline constexpr size_t kLeastCopyPiece = size_t{16} << 10;
inline constexpr size_t kCopyParts = 32;
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

  // `header` has the job and the incarnation. `vector_bytes`: the length of the parameters.
  // `failed` runs when a block cannot be made.
  PartitionFeed(Transport& transport, PartitionBlocks& blocks, PeerId peer, const Header& header,
                size_t vector_bytes, Failed failed)
      : transport_(transport),
        blocks_(blocks),
        peer_(peer),
        header_(header),
        failed_(std::move(failed)),
        copy_piece_(
            std::clamp<size_t>(vector_bytes / kCopyParts, kLeastCopyPiece, kBlockPieceBytes)) {}

  // Announces the partitions and sends them in this order. Samples that the job's caller has are
  // only announced. Copies may be placed again when a step needs them.
  void Place(const std::vector<PartitionId>& partitions, bool copies);
  // The worker's report of what came. kDataError if that was not sent.
  Status Came(const wire::DataCameT& report);
  uint64_t bytes_came() const { return bytes_.came; }

 private:
  // The block that is being cut into pieces. They follow one another.
  struct Block {
    std::shared_ptr<const Bytes> bytes;  // Null: none.
    PartitionId partition = 0;
    size_t sent = 0;
    bool needed = false;
  };

  // True if the partition was placed before as a copy, and has not come.
  bool Promote(PartitionId partition);
  void Feed();
  bool MaySend() const;
  bool Urgent() const { return block_.needed || !needed_.empty(); }
  Status SendPiece();

  Transport& transport_;
  PartitionBlocks& blocks_;
  const PeerId peer_;
  const Header header_;
  const Failed failed_;
  const size_t copy_piece_;                  // Bytes.
  std::deque<PartitionId> needed_, copies_;  // Not begun.
  Block block_;
  std::set<PartitionId> awaited_;  // They have left whole, and the worker has not reported them.
  struct {
    size_t queued = 0;            // Waiting in the transport.
    uint64_t sent = 0, came = 0;  // On this connection.
  } bytes_;                       // Bytes of pieces.
  bool feeding_ = false;
  Alive alive_;
};

}  // namespace motley
