// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/shard_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "checkpoint/payload.h"

namespace motley {
namespace {

constexpr char kHeaderMagic[9] = "MOTLEYCK";
constexpr char kFooterMagic[9] = "MOTLEYND";
constexpr uint32_t kEndianMark = 0x01020304;
constexpr uint32_t kFloat32 = 1;  // The only element type so far.
constexpr size_t kSumOffset = kHeaderBytes - kChecksumBytes;
// More than any memory holds, and far from overflow in all sums and products of sizes.
constexpr uint64_t kMostFloats = uint64_t{1} << 44;

void PutMagic(ByteWriter& out, const char* magic) {
  out.Append(std::as_bytes(std::span(magic, 8)));
}

// The reason why a header with a right checksum is invalid; empty if it is valid.
std::string Contradiction(const ShardHeader& header, uint32_t word_bits, uint32_t element) {
  const uint64_t shards = uint64_t{header.code.data} + header.code.parity;
  if (header.code.data < 1 || shards > kMostShards || header.shard >= shards) {
    return fmt::format("shard {} of {}+{}", header.shard, header.code.data, header.code.parity);
  }
  const auto technique = header.code.technique;
  if (word_bits != ErasureCode::kWordBits ||
      (technique != ErasureTechnique::kVandermonde && technique != ErasureTechnique::kCauchy)) {
    return "an unknown erasure code";
  }
  if (element != kFloat32) return "elements that are not float32";
  if (header.block_bytes == 0 || header.block_bytes > kMostBlockBytes ||
      header.block_bytes % ErasureCode::kBlockMultiple != 0) {
    return fmt::format("blocks of {} bytes", header.block_bytes);
  }
  if (header.description_bytes > kMostDescriptionBytes || header.parameters > kMostFloats ||
      header.optimizer_state > kMostFloats) {
    return "impossible sizes";
  }
  return "";
}

}  // namespace

HeaderBytes PackHeader(const ShardHeader& header) {
  ByteWriter out;
  PutMagic(out, kHeaderMagic);
  out.Put(kShardVersion);
  out.Put(kEndianMark);
  out.Append(header.id);
  out.Put(header.job);
  out.Put(header.step);
  out.Put(header.seed);
  out.Put(header.optimizer_steps);
  out.Put(header.code.data);
  out.Put(header.code.parity);
  out.Put(ErasureCode::kWordBits);
  out.Put(static_cast<uint32_t>(header.code.technique));
  out.Put(header.matrix_hash);
  out.Put(header.shard);
  out.Put(header.block_bytes);
  out.Put(header.description_bytes);
  out.Put(header.parameters);
  out.Put(header.optimizer_state);
  out.Put(kFloat32);
  const Bytes fields = out.Take();
  HeaderBytes bytes{};
  std::copy(fields.begin(), fields.end(), bytes.begin());
  const uint64_t sum = Hash64(BytesView(bytes).first(kSumOffset));
  std::memcpy(bytes.data() + kSumOffset, &sum, sizeof(sum));
  return bytes;
}

Result<ShardHeader> ParseHeader(BytesView bytes) {
  if (bytes.size() < kHeaderBytes) return Status::DataError("it is too short for a header");
  bytes = bytes.first(kHeaderBytes);
  uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + kSumOffset, sizeof(sum));
  if (std::memcmp(bytes.data(), kHeaderMagic, 8) != 0 || sum != Hash64(bytes.first(kSumOffset))) {
    return Status::DataError("its header is damaged");
  }
  ByteReader in(bytes.subspan(8));
  const auto version = in.Get<uint32_t>();
  if (version != kShardVersion) {
    return Status::Conflict(
        fmt::format("it has format version {}, this program reads version {}: use a newer one",
                    version, kShardVersion));
  }
  const auto mark = in.Get<uint32_t>();
  ShardHeader header;
  header.id = in.Get<Hash128>();
  header.job = in.Get<uint64_t>();
  header.step = in.Get<uint64_t>();
  header.seed = in.Get<uint64_t>();
  header.optimizer_steps = in.Get<uint64_t>();
  header.code.data = in.Get<uint32_t>();
  header.code.parity = in.Get<uint32_t>();
  const auto word_bits = in.Get<uint32_t>();
  const auto technique = in.Get<uint32_t>();
  header.code.technique = static_cast<ErasureTechnique>(std::min<uint32_t>(technique, 255));
  header.matrix_hash = in.Get<uint64_t>();
  header.shard = in.Get<uint32_t>();
  header.block_bytes = in.Get<uint32_t>();
  header.description_bytes = in.Get<uint64_t>();
  header.parameters = in.Get<uint64_t>();
  header.optimizer_state = in.Get<uint64_t>();
  const auto element = in.Get<uint32_t>();
  std::string wrong = Contradiction(header, word_bits, element);
  if (mark != kEndianMark) wrong = "the other byte order";
  if (!wrong.empty()) return Status::DataError("its header names " + wrong);
  return header;
}

ShardLayout::ShardLayout(const ShardHeader& header)
    : payload_bytes_(PayloadSections(header).total_bytes),
      data_(header.code.data),
      block_bytes_(header.block_bytes) {
  const uint64_t stripe_bytes = uint64_t{data_} * block_bytes_;
  stripes_ = (payload_bytes_ + stripe_bytes - 1) / stripe_bytes;
  const uint64_t rest = stripes_ == 0 ? 0 : payload_bytes_ - (stripes_ - 1) * stripe_bytes;
  last_block_bytes_ = BlockBytesFor(rest, data_);
}

size_t ShardLayout::BlockBytes(uint64_t stripe) const {
  return stripe + 1 == stripes_ ? last_block_bytes_ : block_bytes_;
}

uint64_t ShardLayout::BlockOffset(uint64_t stripe) const {
  if (stripe < stripes_ || stripe == 0) {
    return kHeaderBytes + stripe * (block_bytes_ + kChecksumBytes);
  }
  return BlockOffset(stripes_ - 1) + last_block_bytes_ + kChecksumBytes;
}

uint64_t ShardLayout::PayloadOffset(uint64_t stripe, uint32_t index) const {
  return stripe * data_ * block_bytes_ + index * BlockBytes(stripe);
}

uint32_t BlockBytesFor(uint64_t payload_bytes, uint32_t data) {
  constexpr uint64_t kMultiple = ErasureCode::kBlockMultiple;
  const uint64_t share = (payload_bytes + data - 1) / data;
  const uint64_t whole = std::max<uint64_t>(1, (share + kMultiple - 1) / kMultiple) * kMultiple;
  return static_cast<uint32_t>(std::min<uint64_t>(whole, kMostBlockBytes));
}

uint64_t BlockChecksum(const Hash128& id, uint32_t shard, uint64_t stripe, BytesView block) {
  ByteWriter name;
  name.Append(id);
  name.Put(uint64_t{shard});
  name.Put(stripe);
  return Hash64(block, Hash64(name.Take()));
}

FooterBytes PackFooter(const ShardHeader& header, const Hash128& content) {
  ByteWriter out;
  PutMagic(out, kFooterMagic);
  out.Put(ShardLayout(header).file_bytes());
  out.Append(content);
  out.Append(header.id);
  out.Put(uint64_t{header.shard});
  Bytes fields = out.Take();
  const uint64_t sum = Hash64(fields);
  FooterBytes bytes;
  std::copy(fields.begin(), fields.end(), bytes.begin());
  std::memcpy(bytes.data() + fields.size(), &sum, sizeof(sum));
  return bytes;
}

std::string ShardFolder(uint32_t shard) { return fmt::format("node-{:02}", shard); }

std::string ShardPath(uint32_t shard, uint64_t step) {
  return fmt::format("{}/step-{:012}.shard", ShardFolder(shard), step);
}

std::string WritingMarkPath(uint32_t shard, uint64_t step) {
  return fmt::format("{}/step-{:012}{}", ShardFolder(shard), step, kWritingMarkSuffix);
}

}  // namespace motley
