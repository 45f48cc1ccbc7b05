// SPDX-License-Identifier: Apache-2.0
// Assembles what a worker receives in pieces: parameters and partitions of the data. Loop thread
// only.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "runtime/links/packed_slice.h"
#include "runtime/links/slicing.h"
#include "runtime/worker/workshop.h"
#include "training/trainers/host_vector.h"

namespace motley {

// The newest version of the parameters. A version in use for computing is never written to.
//
// With shards on workers, a version may still be taken back after it arrived. The server orders
// work with it once that can no longer happen. Until then it replaces no version that is in use.
class ParameterInbox {
 public:
  // All of a shard's new values are here.
  using Came = std::function<void(uint32_t shard, uint64_t version, std::span<const float> values)>;

  // The parameters lie in `memory`; null: the library's.
  explicit ParameterInbox(Slicing cut, OwnMemory memory = nullptr);

  void SetCame(Came came) { came_ = std::move(came); }
  // Workers hold the shards from now on.
  void ShardsAreRemote() { remote_ = true; }
  // So many updates were taken back. What was sent before the last of these is dropped, unless an
  // order uses it.
  void RolledBack(uint32_t rollbacks);

  // A slice that is arriving over one of several connections.
  struct Arriving {
    SharedVector values;  // Kept, even if its version is given up meanwhile.
    size_t slice = 0;
    PackedSlice packed;
  };
  // The room for a slice; empty if the version is not newer. A slice of a later epoch of its shard
  // comes from a new owner. It replaces what earlier owners sent of a version that nobody used, and
  // nothing of theirs is taken any more. kDataError: the slice does not fit the
  // parameters. kResource: there is no memory for it.
  Result<std::span<std::byte>> Begin(const Header& header, Arriving& arriving);
  // The slice arrived. kDataError: its bytes are no parameters.
  Status Finish(Arriving& arriving);
  // The same for the only connection.
  Result<std::span<std::byte>> Begin(const Header& header) { return Begin(header, only_); }
  Status Finish() { return Finish(only_); }
  // The newest version that arrived in whole, if it is this one or a newer one; otherwise null. The
  // server decides which versions an update may use by what it publishes before the update is done.
  // With shards on workers it is this version or none.
  std::shared_ptr<const HostVector> AtLeast(uint64_t version);
  uint64_t newest() const { return whole_.number; }  // Its number. Precondition: there is one.
  // The version after the newest one of which all of this shard's values are here; 0: none.
  uint64_t Needs(uint32_t shard) const;

 private:
  struct Version {
    uint64_t number = 0;
    SharedVector values;  // Null: none yet.
    std::vector<bool> seen;
    std::vector<size_t> missing;  // Slices, by shard.
    size_t missing_count = 0;
  };
  bool ComingIsWhole() const { return coming_.values != nullptr && coming_.missing_count == 0; }
  void Promote();
  Result<SharedVector> Spare();
  Status Expect(uint64_t version);  // Its slices come now.
  std::span<float> SliceIn(HostVector& values, size_t slice) const;

  Slicing cut_;
  OwnMemory memory_;
  std::vector<SharedVector> copies_;
  Version coming_;
  Version whole_;
  std::vector<uint32_t> epochs_;  // The last epoch of each shard.
  uint32_t rollbacks_ = 0;
  bool remote_ = false;
  Came came_;
  void NewEpoch(const Header& header);
  Arriving only_;
};

// Assembles blocks of data into partitions in the workshop's store, and adds partitions of samples
// that the trainer has. It notifies the trainer of each.
class PartitionInbox {
 public:
  struct Shape {
    uint32_t features = 0;
    uint32_t classes = 0;
    bool sparse = false;
  };
  // `failed` runs when the trainer cannot hold a partition. If a partition does not fit into
  // `memory_bytes` with earlier ones, it goes to an unnamed file, except for its labels and row
  // starts. A partition that is sent again may reuse the room that it had.
  PartitionInbox(std::shared_ptr<Workshop> shop, Shape shape,
                 std::function<void(const Status&)> failed = nullptr,
                 uint64_t memory_bytes = std::numeric_limits<uint64_t>::max());

  // Announces partitions. Those that only the trainer has are then complete. kDataError: there is
  // no such partition.
  Status Announce(const std::vector<PartitionId>& partitions);

  // The room for a piece of a block. kDataError: there is no such partition or piece. kResource:
  // there is no memory for it.
  Result<std::span<std::byte>> Begin(const Header& header);
  // The piece of the last Begin arrived. kDataError when the completed block is not a partition of
  // this job, kResource when there is no memory for it.
  Status Finish();

  uint64_t held_bytes() const { return held_bytes_; }  // Bytes in memory.
  // What came since the last call.
  wire::DataCameT TakeCame();

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
  size_t filled_ = 0;  // Bytes of block_ that arrived.
  size_t piece_ = 0;   // The bytes that the last Begin made room for.
  uint64_t held_bytes_ = 0;
  wire::DataCameT came_;
};

}  // namespace motley
