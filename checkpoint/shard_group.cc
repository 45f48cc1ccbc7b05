// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace motley {

Status CheckEnough(const ShardHeader& header, const std::vector<LeftOutShard>& left_out) {
  if (left_out.size() <= header.code.parity) return Status::Ok();
  const Status& why = left_out.front().why;
  if (header.code.parity == 0) return why;
  return why.WithContext(fmt::format("{} of {} shards failed, and {} can be left out at most",
                                     left_out.size(), header.shards(), header.code.parity));
}

ShardGroup::ShardGroup(Store& store, const ShardHeader& header)
    : store_(store), header_(header), members_(header.shards()) {}

// Calls `work` for each shard that is still wanted.
template <typename Work>
Status ShardGroup::ForEach(const Work& work) {
  for (uint32_t shard = 0; shard < members_.size(); ++shard) {
    if (members_[shard].out) continue;
    const Status status = work(shard);
    if (!status.ok()) MOTLEY_RETURN_IF_ERROR(LeaveOut(shard, status));
  }
  return Status::Ok();
}

Status ShardGroup::Begin() {
  MOTLEY_RETURN_IF_ERROR(
      ForEach([&](uint32_t shard) { return store_.MakeFolder(ShardFolder(shard)); }));
  MOTLEY_RETURN_IF_ERROR(store_.SyncFolder(""));
  return ForEach([&](uint32_t shard) -> Status {
    ShardHeader header = header_;
    header.shard = shard;
    MOTLEY_ASSIGN_OR_RETURN(members_[shard].writer, ShardWriter::Begin(store_, header));
    return Status::Ok();
  });
}

Status ShardGroup::AddStripe(const std::vector<BytesView>& blocks) {
  return ForEach([&](uint32_t shard) { return members_[shard].writer->AddBlock(blocks[shard]); });
}

Status ShardGroup::Publish() {
  MOTLEY_RETURN_IF_ERROR(ForEach([&](uint32_t shard) { return members_[shard].writer->Finish(); }));
  MOTLEY_RETURN_IF_ERROR(ForEach([&](uint32_t shard) { return Mark(shard); }));
  const Status published = ForEach([&](uint32_t shard) {
    const Status status = members_[shard].writer->Publish();
    members_[shard].published = status.ok();
    return status;
  });
  MOTLEY_RETURN_IF_ERROR(published);
  return ForEach([&](uint32_t shard) { return store_.SyncFolder(ShardFolder(shard)); });
}

// The mark must be on the disk before the shard gets its name.
Status ShardGroup::Mark(uint32_t shard) {
  members_[shard].marked = true;
  const auto file = store_.Create(WritingMarkPath(shard, header_.step));
  if (!file.ok() && file.code() != StatusCode::kConflict) return file.status();
  return store_.SyncFolder(ShardFolder(shard));
}

Status ShardGroup::Unmark() {
  unmarking_ = true;
  std::vector<LeftOutShard> failed;
  for (uint32_t shard = 0; shard < members_.size(); ++shard) {
    if (members_[shard].out) continue;
    Status status = store_.Remove(WritingMarkPath(shard, header_.step));
    if (status.ok()) status = store_.SyncFolder(ShardFolder(shard));
    const std::string folder = store_.Describe(ShardFolder(shard));
    if (!status.ok()) failed.push_back({shard, folder, std::move(status)});
  }
  std::vector<LeftOutShard> all = left_out_;
  all.insert(all.end(), failed.begin(), failed.end());
  // Checks all at once, because each removed shard would be missing if too many failed.
  MOTLEY_RETURN_IF_ERROR(CheckEnough(header_, all));
  for (const LeftOutShard& each : failed) MOTLEY_RETURN_IF_ERROR(LeaveOut(each.shard, each.why));
  return Status::Ok();
}

Status ShardGroup::LeaveOut(uint32_t shard, const Status& why) {
  if (!members_[shard].out) {
    members_[shard].out = true;
    Remove(shard);
    const auto after = std::find_if(left_out_.begin(), left_out_.end(),
                                    [&](const LeftOutShard& each) { return each.shard > shard; });
    left_out_.insert(after, {shard, store_.Describe(ShardFolder(shard)), why});
  }
  return CheckEnough(header_, left_out_);
}

void ShardGroup::RemoveAll() {
  for (uint32_t shard = 0; unmarking_ && shard < members_.size(); ++shard) {
    if (members_[shard].published && !Mark(shard).ok()) return;
  }
  for (uint32_t shard = 0; shard < members_.size(); ++shard) Remove(shard);
}

void ShardGroup::Remove(uint32_t shard) {
  Member& member = members_[shard];
  bool gone = true;
  if (member.published) {
    gone = store_.Remove(ShardPath(shard, header_.step)).ok() &&
           store_.SyncFolder(ShardFolder(shard)).ok();
  } else if (member.writer) {
    member.writer->Discard();
  }
  if (member.marked && gone) (void)store_.Remove(WritingMarkPath(shard, header_.step));
  member.marked = false;
  member.published = false;
  member.writer.reset();
}

}  // namespace motley
