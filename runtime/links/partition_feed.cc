// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/partition_feed.h"

#include <fmt/format.h>

#include <utility>

#include "data/index_source.h"
#include "runtime/links/messages.h"
#include "runtime/links/slicing.h"
#include "runtime/memory_need.h"

namespace motley {

Status CheckBlockBytes(uint64_t bytes) {
  if (bytes <= kMaxBlockBytes) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("a partition of the data would take {:.2f} GiB and a worker accepts {} GiB: cut "
                  "the samples into more partitions, which more workers do too",
                  static_cast<double>(bytes) / (1U << 30), kMaxBlockBytes >> 30));
}

PartitionBlocks::PartitionBlocks(const DataSource& data, const std::vector<uint32_t>& sizes)
    : data_(data), begins_{0} {
  for (const uint32_t size : sizes) begins_.push_back(begins_.back() + size);
}

Result<std::shared_ptr<const Bytes>> PartitionBlocks::Get(PartitionId partition) {
  std::weak_ptr<const Bytes>& known = blocks_[partition];
  if (std::shared_ptr<const Bytes> block = known.lock()) return block;
  auto read = OrNoMemory("a partition's data", [this, partition]() -> Result<Bytes> {
    MOTLEY_ASSIGN_OR_RETURN(const Dataset samples,
                            data_.Range(begins_[partition], begins_[partition + 1]));
    // The size of a sparse partition is only known now, because its samples may be unevenly full.
    MOTLEY_RETURN_IF_ERROR(CheckBlockBytes(BlockBytes(
        samples.rows(), samples.features, samples.sparse, samples.value.size(), samples.storage)));
    return EncodeBlock(samples, 0, samples.rows());
  });
  if (!read.ok()) return read.status().WithContext(fmt::format("partition {}", partition));
  auto block = std::make_shared<const Bytes>(std::move(read).value());
  known = block;
  return block;
}

void PartitionFeed::Place(const std::vector<PartitionId>& partitions) {
  wire::PlaceT place;
  place.partitions = partitions;
  SendControl(transport_, peer_, header_, std::move(place));
  if (!blocks_.has_samples()) return;
  waiting_.insert(waiting_.end(), partitions.begin(), partitions.end());
  Feed();
}

void PartitionFeed::Feed() {
  if (std::exchange(feeding_, true)) return;  // A send may end before Send returns.
  while (!waiting_.empty() && queued_bytes_ < kFeedWindow) {
    const PartitionId partition = waiting_.front();
    waiting_.pop_front();
    if (const Status sent = SendBlock(partition); !sent.ok()) {
      waiting_.clear();
      feeding_ = false;
      return failed_(sent);
    }
  }
  feeding_ = false;
}

Status PartitionFeed::SendBlock(PartitionId partition) {
  MOTLEY_ASSIGN_OR_RETURN(const std::shared_ptr<const Bytes> block, blocks_.Get(partition));
  Header header = header_;
  header.kind = FrameKind::kPartition;
  header.row_id = partition;
  header.total = block->size();
  const Slicing cut(block->size(), kBlockPieceBytes);  // Bytes instead of floats.
  queued_bytes_ += block->size();
  for (size_t piece = 0; piece < cut.count(); ++piece) {
    header.offset = cut.begin(piece);
    const size_t size = cut.size(piece);
    const BytesView bytes(block->data() + cut.begin(piece), size);
    auto sent = alive_.Guard([this, size](const Status& status) {
      queued_bytes_ -= size;
      if (status.ok()) Feed();
    });
    transport_.Send(peer_, header, std::span<const BytesView>(&bytes, 1), Priority::kBulk,
                    [block, sent](const Status& status) { sent(status); });
  }
  return Status::Ok();
}

}  // namespace motley
