// SPDX-License-Identifier: Apache-2.0
// The shards of one checkpoint while they are written: those that their folders take. A shard that
// fails is left out, and nothing of it stays, also to leave its room to the others. Blocking; see
// checkpoint.h for threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_writer.h"

namespace motley {

// Fine while at most m of the checkpoint's shards are left out, else why they were.
Status CheckEnough(const ShardHeader& header, const std::vector<LeftOutShard>& left_out);

// Calls that return a Status fail, once too many shards are left out, as CheckEnough does; then
// RemoveAll.
class ShardGroup {
 public:
  // `header`: of all of them. `store` outlives it.
  ShardGroup(Store& store, const ShardHeader& header);

  // Its folders, and the files under temporary names.
  Status Begin();
  // A block for each shard, k + m.
  Status AddStripe(const std::vector<BytesView>& blocks);
  // Finishes all, marks their folders, publishes all, then syncs their folders: after it, they
  // survive a power cut, as what a write has left that has not ended.
  Status Publish();
  // Takes the marks away, for good: from here on the checkpoint counts as one that was complete.
  Status Unmark();
  // For what was found out elsewhere. Once is enough for a shard; the first reason stays.
  Status LeaveOut(uint32_t shard, const Status& why);

  bool Has(uint32_t shard) const { return !members_[shard].out; }
  const std::vector<LeftOutShard>& left_out() const { return left_out_; }
  // Shards first and marks then, so that what a power cut brings back is known for what it is; all
  // of them stay, complete, where some have lost their marks and cannot be marked again.
  void RemoveAll();

 private:
  struct Member {
    std::optional<ShardWriter> writer;
    bool marked = false;  // Perhaps.
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
