// SPDX-License-Identifier: Apache-2.0
// Puts together what a worker is sent in pieces: parameters and partitions of the data. Loop thread
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "runtime/links/slicing.h"
#include "runtime/shard/publisher.h"
#include "runtime/worker/workshop.h"

namespace motley {

// The newest version of the parameters. A version that is being computed with is never written to.
class ParameterInbox {
 public:
  ParameterInbox(size_t parameter_count, uint32_t slice_length);

  // Where a slice goes; empty for a version that is not news. kDataError: not a slice of ours;
  // kResource: no memory for it.
  Result<std::span<std::byte>> Begin(const Header& header);
  void Finish();  // The slice of the last Begin is there.
  // That version, when all of it is there and none newer; otherwise null.
  ParameterCopy Get(uint64_t version) const;

 private:
  struct Version {
    uint64_t number = 0;
    std::shared_ptr<std::vector<float>> values;  // Null: none yet.
    std::vector<bool> seen;
    size_t seen_count = 0;
  };
  Result<std::shared_ptr<std::vector<float>>> Spare();

  Slicing cut_;
  std::vector<std::shared_ptr<std::vector<float>>> copies_;
  Version coming_;
  Version whole_;
  size_t slice_ = 0;  // Of the last Begin.
};

// Blocks of data, which become partitions in the workshop's store, and partitions of samples that
// the trainer has. The trainer is told of each.
class PartitionInbox {
 public:
  struct Shape {
    uint32_t features = 0;
    uint32_t classes = 0;
    bool sparse = false;
  };
  // `failed` runs when the trainer cannot hold a partition. Partitions that do not fit into
  // `memory_bytes` with those before go to files without a name, save their labels and where rows
  // begin; one that is sent again may have the room that it had.
  PartitionInbox(std::shared_ptr<Workshop> shop, Shape shape,
                 std::function<void(const Status&)> failed = nullptr,
                 uint64_t memory_bytes = std::numeric_limits<uint64_t>::max());

  // These will come; those that only the trainer has are there with that. kDataError: a partition
  // that cannot be.
  Status Announce(const std::vector<PartitionId>& partitions);

  // Where a piece of a block goes. kDataError: a partition or a piece that cannot be;
  // kResource: no memory for it.
  Result<std::span<std::byte>> Begin(const Header& header);
  // The piece of the last Begin is there. kDataError when the block it completes is not a partition
  // of this job, kResource when there is no memory for it.
  Status Finish();

  uint64_t held_bytes() const { return held_bytes_; }  // In memory.

 private:
  Status CheckPartition(uint64_t partition) const;
  Status Keep();
  Status Store(PartitionId partition, Dataset data);
  void Drop(PartitionId partition);

  std::shared_ptr<Workshop> shop_;
  Shape shape_;
  std::function<void(const Status&)> failed_;
  uint64_t memory_bytes_;
  PartitionId partition_ = 0;
  Bytes block_;
  size_t filled_ = 0;  // Of block_.
  size_t piece_ = 0;   // Bytes that the last Begin gave room to.
  uint64_t held_bytes_ = 0;
};

}  // namespace motley
