// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/worker_inbox.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/tables/stored_source.h"
#include "runtime/links/partition_feed.h"
#include "runtime/memory_need.h"

namespace motley {
namespace {

constexpr uint32_t kMostRollbacksAhead = 1024;  // A worker misses none while it is connected.

}  // namespace

ParameterInbox::ParameterInbox(Slicing cut, OwnMemory memory)
    : cut_(std::move(cut)), memory_(std::move(memory)), epochs_(cut_.shards(), 0) {}

Result<SharedVector> ParameterInbox::Spare() {
  for (const auto& copy : copies_) {
    if (copy.use_count() == 1) return copy;
  }
  return OrNoMemory("the parameters", [this]() -> Result<SharedVector> {
    MOTLEY_ASSIGN_OR_RETURN(SharedVector copy,
                            HostVector::Make("the parameters", cut_.total(), memory_));
    copies_.push_back(copy);
    return copy;
  });
}

Result<std::span<std::byte>> ParameterInbox::Begin(const Header& header, Arriving& arriving) {
  arriving.values = nullptr;
  if (header.row < rollbacks_) return std::span<std::byte>();
  if (header.row > rollbacks_ + kMostRollbacksAhead) {
    return Status::DataError(fmt::format("parameters after {} rollbacks, of which {} are known",
                                         header.row, rollbacks_));
  }
  RolledBack(header.row);
  if (header.shard < epochs_.size() && header.attempt != epochs_[header.shard]) {
    if (header.attempt < epochs_[header.shard]) return std::span<std::byte>();
    NewEpoch(header);
  }
  const bool old = (whole_.values && header.version <= whole_.number) ||
                   (coming_.values && header.version < coming_.number);
  if (old) return std::span<std::byte>();
  MOTLEY_ASSIGN_OR_RETURN(arriving.slice, SliceOf(cut_, header));
  if (!coming_.values || header.version != coming_.number) {
    if (ComingIsWhole()) Promote();
    // No order needs the older version, unless one has it already. After a rollback it comes again.
    if (whole_.values.use_count() == 2) whole_.values = nullptr;
    MOTLEY_RETURN_IF_ERROR(Expect(header.version));
  }
  // It may be in use soon.
  if (coming_.seen[arriving.slice]) return std::span<std::byte>();
  MOTLEY_RETURN_IF_ERROR(arriving.packed.Begin(header));
  arriving.values = coming_.values;
  return arriving.packed.Room(SliceIn(*coming_.values, arriving.slice));
}

Status ParameterInbox::Expect(uint64_t version) {
  coming_.values = nullptr;
  coming_.number = version;
  MOTLEY_ASSIGN_OR_RETURN(coming_.values, Spare());
  coming_.seen.assign(cut_.count(), false);
  coming_.missing.clear();
  for (size_t shard = 0; shard < cut_.shards(); ++shard) {
    coming_.missing.push_back(cut_.first_slice(shard + 1) - cut_.first_slice(shard));
  }
  coming_.missing_count = cut_.count();
  return Status::Ok();
}

std::span<float> ParameterInbox::SliceIn(HostVector& values, size_t slice) const {
  return std::span(values).subspan(cut_.begin(slice), cut_.size(slice));
}

Status ParameterInbox::Finish(Arriving& arriving) {
  const auto values = std::exchange(arriving.values, nullptr);
  const size_t slice = arriving.slice;
  if (values == nullptr || values != coming_.values || coming_.seen[slice]) return Status::Ok();
  MOTLEY_RETURN_IF_ERROR(arriving.packed.Finish(SliceIn(*values, slice)));
  coming_.seen[slice] = true;
  --coming_.missing_count;
  const size_t shard = cut_.ShardOf(slice);
  if (--coming_.missing[shard] == 0 && came_) {
    const size_t begin = cut_.begin_of(shard);
    came_(static_cast<uint32_t>(shard), coming_.number,
          std::span<const float>(*values).subspan(begin, cut_.end_of(shard) - begin));
  }
  if (!remote_ && ComingIsWhole()) Promote();
  return Status::Ok();
}

void ParameterInbox::Promote() {
  std::swap(whole_, coming_);
  coming_.values = nullptr;
}

void ParameterInbox::RolledBack(uint32_t rollbacks) {
  if (rollbacks <= rollbacks_) return;
  rollbacks_ = rollbacks;
  coming_.values = nullptr;
}

void ParameterInbox::NewEpoch(const Header& header) {
  epochs_[header.shard] = header.attempt;
  if (!coming_.values || coming_.number != header.version) return;
  for (size_t slice = cut_.first_slice(header.shard); slice < cut_.first_slice(header.shard + 1);
       ++slice) {
    if (!coming_.seen[slice]) continue;
    coming_.seen[slice] = false;
    ++coming_.missing[header.shard];
    ++coming_.missing_count;
  }
}

uint64_t ParameterInbox::Needs(uint32_t shard) const {
  if (coming_.values && coming_.missing[shard] == 0) return coming_.number + 1;
  return whole_.values ? whole_.number + 1 : 0;
}

std::shared_ptr<const HostVector> ParameterInbox::AtLeast(uint64_t version) {
  if (ComingIsWhole() && coming_.number <= version) Promote();
  const bool fits = remote_ ? whole_.number == version : whole_.number >= version;
  return fits ? whole_.values : nullptr;
}

PartitionInbox::PartitionInbox(std::shared_ptr<Workshop> shop, Shape shape,
                               std::function<void(const Status&)> failed, uint64_t memory_bytes)
    : shop_(std::move(shop)),
      shape_(shape),
      failed_(std::move(failed)),
      memory_bytes_(memory_bytes) {}

Status PartitionInbox::CheckPartition(uint64_t partition) const {
  const size_t count = shop_->schedule.partition_sizes().size();
  if (partition < count) return Status::Ok();
  return Status::DataError(
      fmt::format("a block of partition {}, of which there are {}", partition, count));
}

Status PartitionInbox::Announce(const std::vector<PartitionId>& partitions) {
  if (shape_.features > 0) return Status::Ok();  // The samples come as blocks.
  for (const PartitionId partition : partitions) {
    MOTLEY_RETURN_IF_ERROR(CheckPartition(partition));
    MOTLEY_RETURN_IF_ERROR(Store(partition, Dataset()));
  }
  return Status::Ok();
}

Result<std::span<std::byte>> PartitionInbox::Begin(const Header& header) {
  MOTLEY_RETURN_IF_ERROR(CheckPartition(header.row_id));
  if (header.total > kMaxBlockBytes || header.offset > header.total ||
      header.length > header.total - header.offset) {
    return Status::DataError(fmt::format("{} bytes at {} of a block of {} bytes", header.length,
                                         header.offset, header.total));
  }
  if (header.offset == 0) {
    partition_ = header.row_id;
    MOTLEY_RETURN_IF_ERROR(OrNoMemory("a partition's data", [&] {
      block_.assign(header.total, std::byte{});
      return Status::Ok();
    }));
    filled_ = 0;
  } else if (header.row_id != partition_ || header.offset != filled_ ||
             header.total != block_.size()) {
    return Status::DataError(
        fmt::format("a piece at {} of partition {} out of order", header.offset, header.row_id));
  }
  piece_ = header.length;
  return std::span<std::byte>(block_).subspan(filled_, piece_);
}

Status PartitionInbox::Finish() {
  filled_ += piece_;
  came_.bytes += piece_;
  if (filled_ < block_.size()) return Status::Ok();
  const Status kept = OrNoMemory("a partition's data", [this] { return Keep(); });
  if (kept.code() == StatusCode::kResource) return kept;
  return kept.WithContext(fmt::format("the data of partition {} is damaged", partition_));
}

Status PartitionInbox::Keep() {
  const Bytes block = std::exchange(block_, Bytes());
  MOTLEY_ASSIGN_OR_RETURN(Dataset data,
                          DecodeBlock(block, shape_.features, shape_.classes, shape_.sparse));
  const uint32_t size = shop_->schedule.partition_sizes()[partition_];
  if (data.rows() != size) {
    return Status::DataError(fmt::format("{} samples where {} belong", data.rows(), size));
  }
  return Store(partition_, std::move(data));
}

Status PartitionInbox::Store(PartitionId partition, Dataset data) {
  // The memory that spilled partitions need may exceed the limit. A partition that comes again
  // still has the room that it had.
  const uint64_t room = std::max(memory_bytes_, held_bytes_);
  Drop(partition);
  const bool fits = data.size_bytes() <= room - held_bytes_;
  std::shared_ptr<const DataSource> kept;
  if (fits || shape_.features == 0) {
    kept = std::make_shared<const MemorySource>(std::move(data));
  } else {
    MOTLEY_ASSIGN_OR_RETURN(kept, Spill(std::move(data)));
  }
  if (shape_.features > 0) held_bytes_ += kept->memory_bytes();
  shop_->store[partition] = std::move(kept);
  shop_->trainer->Hold(partition, [keep = shop_, failed = failed_](const Status& why) {
    if (failed) failed(why);
  });
  came_.partitions.push_back(partition);
  return Status::Ok();
}

wire::DataCameT PartitionInbox::TakeCame() {
  wire::DataCameT came = came_;
  came_.partitions.clear();
  return came;
}

void PartitionInbox::Drop(PartitionId partition) {
  const auto held = shop_->store.find(partition);
  if (held == shop_->store.end()) return;
  if (shape_.features > 0) held_bytes_ -= held->second->memory_bytes();
  shop_->store.erase(held);
}

}  // namespace motley
