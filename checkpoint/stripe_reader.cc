// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/stripe_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace motley {

StripeReader::StripeReader(Store& store, const ShardSet& set, ErasureCode code)
    : store_(&store),
      set_(&set),
      code_(std::move(code)),
      layout_(set.header),
      blocks_(set.header.shards(), Bytes(set.header.block_bytes + kChecksumBytes)),
      parity_(set.header.code.parity, Bytes(set.header.block_bytes + kChecksumBytes)),
      present_(set.header.shards()),
      wrong_parity_(set.header.shards()),
      used_(set.header.shards()),
      lost_(set.header.shards()),
      read_errors_(set.header.shards()) {
  for (uint32_t shard = 0; shard < set.places.size(); ++shard) {
    AddReadError(shard, set.places[shard].unread);
  }
}

void StripeReader::AddReadError(uint32_t shard, const Status& why) {
  if (read_error_.ok()) read_error_ = why;
  if (read_errors_[shard].ok()) read_errors_[shard] = why;
}

Result<StripeReader> StripeReader::Open(Store& store, const ShardSet& set) {
  const ShardHeader& header = set.header;
  MOTLEY_ASSIGN_OR_RETURN(
      ErasureCode code,
      ErasureCode::Create(header.code.data, header.code.parity, header.code.technique));
  if (Hash64(std::as_bytes(code.matrix())) != header.matrix_hash) {
    return Status::DataError("it was written with another matrix of the erasure code");
  }
  return StripeReader(store, set, std::move(code));
}

uint64_t StripeReader::stripes_there() const {
  uint64_t longest = 0;
  for (const ShardPlace& place : set_->places) longest = std::max(longest, place.size_bytes);
  return std::min(layout_.stripes(), longest / (set_->header.block_bytes + kChecksumBytes) + 1);
}

void StripeReader::ReadBlock(uint32_t shard, uint64_t stripe) {
  present_[shard] = BlockIsRight(shard, stripe);
  ++(present_[shard] ? used_ : lost_)[shard];
}

bool StripeReader::BlockIsRight(uint32_t shard, uint64_t stripe) {
  const ShardPlace& place = set_->places[shard];
  if (!place.usable) return false;
  const auto room = std::span(blocks_[shard]).first(size_ + kChecksumBytes);
  const auto got = store_->Read(place.path, layout_.BlockOffset(stripe), room);
  const bool failed = !got.ok() && got.code() != StatusCode::kNotFound;
  if (failed) AddReadError(shard, got.status());
  if (!got.ok() || *got != room.size()) return false;
  uint64_t sum = 0;
  std::memcpy(&sum, room.data() + size_, sizeof(sum));
  return sum == BlockChecksum(set_->header.id, shard, stripe, room.first(size_));
}

void StripeReader::ReadAll(uint64_t stripe) {
  size_ = layout_.BlockBytes(stripe);
  for (uint32_t shard = 0; shard < blocks_.size(); ++shard) ReadBlock(shard, stripe);
}

Status StripeReader::ReadData(uint64_t stripe) {
  size_ = layout_.BlockBytes(stripe);
  present_.assign(blocks_.size(), false);
  std::vector<bool> wanted(blocks_.size(), false);
  uint32_t there = 0;
  for (uint32_t shard = 0; shard < blocks_.size(); ++shard) {
    if (there == code_.data()) break;
    ReadBlock(shard, stripe);
    if (present_[shard]) ++there;
    wanted[shard] = shard < code_.data() && !present_[shard];
  }
  return code_.Reconstruct(Spans(), present_, wanted);
}

Status StripeReader::Rebuild() {
  wrong_parity_.assign(blocks_.size(), false);
  std::vector<bool> wanted(blocks_.size(), false);
  for (uint32_t i = 0; i < code_.data(); ++i) wanted[i] = !present_[i];
  MOTLEY_RETURN_IF_ERROR(code_.Reconstruct(Spans(), present_, wanted));
  if (code_.parity() == 0) return Status::Ok();
  std::vector<BytesView> data;
  std::vector<std::span<std::byte>> parity;
  for (uint32_t i = 0; i < code_.data(); ++i) data.push_back(block(i));
  for (Bytes& coded : parity_) parity.push_back(std::span(coded).first(size_));
  MOTLEY_RETURN_IF_ERROR(code_.Encode(data, parity));
  for (uint32_t i = 0; i < code_.parity(); ++i) {
    const uint32_t shard = code_.data() + i;
    wrong_parity_[shard] =
        present_[shard] && std::memcmp(block(shard).data(), parity_[i].data(), size_) != 0;
    std::swap(blocks_[shard], parity_[i]);
  }
  return Status::Ok();
}

std::vector<std::span<std::byte>> StripeReader::Spans() {
  std::vector<std::span<std::byte>> spans;
  for (Bytes& block : blocks_) spans.push_back(std::span(block).first(size_));
  return spans;
}

}  // namespace motley
