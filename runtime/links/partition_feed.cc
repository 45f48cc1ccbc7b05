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

PartitionFeed::PartitionFeed(Transport& transport, const DataSource& data,
                             const std::vector<uint32_t>& sizes, uint32_t workers, Failed failed)
    : transport_(transport), data_(data), begins_{0}, seats_(workers), failed_(std::move(failed)) {
  for (const uint32_t size : sizes) begins_.push_back(begins_.back() + size);
}

void PartitionFeed::Place(WorkerId worker, PeerId peer, const Header& header,
                          const std::vector<PartitionId>& partitions) {
  Seat& seat = seats_[worker];
  seat.peer = peer;
  seat.header = header;
  wire::PlaceT place;
  place.partitions = partitions;
  SendControl(transport_, peer, header, std::move(place));
  if (CallerOwned(data_.shape())) return;
  seat.waiting.insert(seat.waiting.end(), partitions.begin(), partitions.end());
  Feed(worker);
}

void PartitionFeed::Forget(WorkerId worker) {
  const uint64_t life = seats_[worker].life + 1;
  seats_[worker] = Seat();
  seats_[worker].life = life;
}

void PartitionFeed::Feed(WorkerId worker) {
  Seat& seat = seats_[worker];
  if (std::exchange(seat.feeding, true)) return;  // A send may end before Send returns.
  while (!seat.waiting.empty() && seat.queued_bytes < kFeedWindow) {
    const PartitionId partition = seat.waiting.front();
    seat.waiting.pop_front();
    if (const Status sent = SendBlock(worker, partition); !sent.ok()) {
      seat.waiting.clear();
      seat.feeding = false;
      return failed_(sent);
    }
  }
  seat.feeding = false;
}

Status PartitionFeed::SendBlock(WorkerId worker, PartitionId partition) {
  Seat& seat = seats_[worker];
  MOTLEY_ASSIGN_OR_RETURN(const std::shared_ptr<const Bytes> block, Block(partition));
  Header header = seat.header;
  header.kind = FrameKind::kPartition;
  header.row_id = partition;
  header.total = block->size();
  const Slicing cut(block->size(), kBlockPieceBytes, 1);
  seat.queued_bytes += block->size();
  for (size_t piece = 0; piece < cut.count(); ++piece) {
    header.offset = cut.begin(piece);
    const size_t size = cut.size(piece);
    const BytesView bytes(block->data() + cut.begin(piece), size);
    auto sent = alive_.Guard([this, worker, size, life = seat.life](const Status& status) {
      if (seats_[worker].life != life) return;
      seats_[worker].queued_bytes -= size;
      if (status.ok()) Feed(worker);
    });
    transport_.Send(seat.peer, header, std::span<const BytesView>(&bytes, 1), Priority::kBulk,
                    [block, sent](const Status& status) { sent(status); });
  }
  return Status::Ok();
}

Result<std::shared_ptr<const Bytes>> PartitionFeed::Block(PartitionId partition) {
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

}  // namespace motley
