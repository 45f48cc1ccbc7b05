// SPDX-License-Identifier: Apache-2.0
// The shards of a checkpoint while they are written. A shard that fails is left out and its file
// removed, which also frees disk space for the others. Blocking; see checkpoint.h for threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_writer.h"

namespace motley {

// OK while at most m of the checkpoint's shards are left out; otherwise their reasons.
Status CheckEnough(const ShardHeader& header, const std::vector<LeftOutShard>& left_out);

// Once too many shards are left out, calls that return a Status fail like CheckEnough. Call
// RemoveAll then.
class ShardGroup {
 public:
  // `header` is that of all shards. `store` outlives this object.
  ShardGroup(Store& store, const ShardHeader& header);

  // Creates the folders, and the files under temporary names.
  Status Begin();
  // Appends one block to each of the k + m shards.
  Status AddStripe(const std::vector<BytesView>& blocks);
  // Finishes all files, marks their folders, renames the files, and syncs the folders. Afterwards
  // they survive a power cut, as the leftovers of an unfinished write.
  Status Publish();
  // Removes the marks durably. From now on the checkpoint counts as complete.
  Status Unmark();
  // Leaves out a shard for a reason found elsewhere. Only the first reason counts.
  Status LeaveOut(uint32_t shard, const Status& why);

  bool Has(uint32_t shard) const { return !members_[shard].out; }
  const std::vector<LeftOutShard>& left_out() const { return left_out_; }
  // Removes the shards first and the marks afterwards, so that leftovers after a power cut are
  // recognised. If some shards have lost their marks and cannot be marked again, all shards stay,
  // complete.
  void RemoveAll();

 private:
  struct Member {
    std::optional<ShardWriter> writer;
    bool marked = false;  // The mark may be there.
    bool published = false;
    bool out = false;
  };

  template <typename Work>
  Status ForEach(const Work& work);
  Status Mark(uint32_t shard);
  void Remove(uint32_t shard);

  Store& store_;
  ShardHeader header_;
  std::vector<Member> members_;
  std::vector<LeftOutShard> left_out_;
  bool unmarking_ = false;
};

}  // namespace motley
