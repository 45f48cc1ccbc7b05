// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_writer.h"

#include <utility>

namespace motley {
namespace {

std::string TemporaryPath(const ShardHeader& header) {
  return ShardPath(header.shard, header.step) + kTemporarySuffix;
}

}  // namespace

Result<ShardWriter> ShardWriter::Begin(Store& store, const ShardHeader& header) {
  ShardWriter writer(store, header);
  const std::string path = TemporaryPath(header);
  auto file = store.Create(path);
  if (file.code() == StatusCode::kConflict) {
    MOTLEY_RETURN_IF_ERROR(store.Remove(path));
    file = store.Create(path);
  }
  MOTLEY_ASSIGN_OR_RETURN(writer.file_, std::move(file));
  const Status status = writer.Append(PackHeader(header));
  if (!status.ok()) {
    writer.Discard();
    return status;
  }
  return writer;
}

Status ShardWriter::Append(BytesView bytes) {
  content_.Add(bytes);
  return file_->Append(bytes);
}

Status ShardWriter::AddBlock(BytesView block) {
  const uint64_t sum = BlockChecksum(header_.id, header_.shard, next_stripe_++, block);
  MOTLEY_RETURN_IF_ERROR(Append(block));
  return Append(std::as_bytes(std::span(&sum, 1)));
}

Status ShardWriter::Finish() {
  MOTLEY_RETURN_IF_ERROR(file_->Append(PackFooter(header_, content_.Value())));
  MOTLEY_RETURN_IF_ERROR(file_->Sync());
  file_.reset();
  return Status::Ok();
}

Status ShardWriter::Publish() {
  return store_->Rename(TemporaryPath(header_), ShardPath(header_.shard, header_.step));
}

void ShardWriter::Discard() {
  file_.reset();
  (void)store_->Remove(TemporaryPath(header_));
}

Status RemoveWritingMark(Store& store, uint32_t shard, uint64_t step) {
  const Status removed = store.Remove(WritingMarkPath(shard, step));
  if (!removed.ok() && removed.code() != StatusCode::kNotFound) return removed;
  return store.SyncFolder(ShardFolder(shard));
}

}  // namespace motley
