// SPDX-License-Identifier: Apache-2.0
#include "runtime/links/partition_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/index_source.h"
#include "runtime/links/messages.h"
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

void PartitionFeed::Place(const std::vector<PartitionId>& partitions, bool copies) {
  wire::PlaceT place;
  for (const PartitionId partition : partitions) {
    if (copies || !Promote(partition)) place.partitions.push_back(partition);
  }
  if (blocks_.has_samples()) {
    std::deque<PartitionId>& waiting = copies ? copies_ : needed_;
    waiting.insert(waiting.end(), place.partitions.begin(), place.partitions.end());
  } else {
    awaited_.insert(place.partitions.begin(), place.partitions.end());
  }
  if (!place.partitions.empty()) SendControl(transport_, peer_, header_, std::move(place));
  Feed();
}

bool PartitionFeed::Promote(PartitionId partition) {
  if (awaited_.contains(partition)) return true;
  if (block_.bytes != nullptr && block_.partition == partition) {
    block_.needed = true;
    return true;
  }
  const auto copy = std::find(copies_.begin(), copies_.end(), partition);
  if (copy == copies_.end()) return false;
  copies_.erase(copy);
  needed_.push_back(partition);
  return true;
}

Status PartitionFeed::Came(const wire::DataCameT& report) {
  if (report.bytes < bytes_.came || report.bytes > bytes_.sent) {
    return Status::DataError(
        fmt::format("it claims to have {} bytes of data after {}, and {} were sent", report.bytes,
                    bytes_.came, bytes_.sent));
  }
  for (const PartitionId partition : report.partitions) {
    if (awaited_.erase(partition) > 0) continue;
    return Status::DataError(
        fmt::format("it claims to have partition {}, which was not sent", partition));
  }
  bytes_.came = report.bytes;
  Feed();
  return Status::Ok();
}

void PartitionFeed::Feed() {
  if (std::exchange(feeding_, true)) return;  // A send may end before Send returns.
  while (MaySend()) {
    if (const Status sent = SendPiece(); !sent.ok()) {
      needed_.clear();
      copies_.clear();
      feeding_ = false;
      return failed_(sent);
    }
  }
  feeding_ = false;
}

bool PartitionFeed::MaySend() const {
  if (Urgent()) return bytes_.queued < kFeedWindow;
  const bool any = block_.bytes != nullptr || !copies_.empty();
  return any && bytes_.sent - bytes_.came < copy_piece_;
}

Status PartitionFeed::SendPiece() {
  if (block_.bytes == nullptr) {
    const bool needed = !needed_.empty();
    std::deque<PartitionId>& from = needed ? needed_ : copies_;
    const PartitionId partition = from.front();
    from.pop_front();
    MOTLEY_ASSIGN_OR_RETURN(std::shared_ptr<const Bytes> bytes, blocks_.Get(partition));
    block_ = {std::move(bytes), partition, 0, needed};
  }
  const size_t most = Urgent() ? kBlockPieceBytes : copy_piece_;
  const size_t size = std::min(most, block_.bytes->size() - block_.sent);
  const BytesView piece = BytesView(*block_.bytes).subspan(block_.sent, size);
  Header header = header_;
  header.kind = FrameKind::kPartition;
  header.row_id = block_.partition;
  header.total = block_.bytes->size();
  header.offset = block_.sent;
  block_.sent += size;
  bytes_.queued += size;
  bytes_.sent += size;
  const std::shared_ptr<const Bytes> keep = block_.bytes;
  if (block_.sent == keep->size()) {
    awaited_.insert(block_.partition);
    block_ = {};
  }
  auto sent = alive_.Guard([this, size](const Status& status) {
    bytes_.queued -= size;
    if (status.ok()) Feed();
  });
  transport_.Send(peer_, header, std::span<const BytesView>(&piece, 1), Priority::kBulk,
                  [keep, sent](const Status& status) { sent(status); });
  return Status::Ok();
}

}  // namespace motley
