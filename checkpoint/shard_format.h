// SPDX-License-Identifier: Apache-2.0
// The bytes of a shard file, version 1: a header, one block of each stripe with its checksum, a
// footer. All numbers little-endian. docs/decisions/0006-checkpoint-format.md has the table. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/shard_hash.h"

namespace motley {

inline constexpr uint32_t kShardVersion = 1;
inline constexpr uint32_t kMostShards = 100;  // Two digits in a folder's name.
inline constexpr size_t kHeaderBytes = 512;   // A sector.
inline constexpr size_t kFooterBytes = 64;
inline constexpr size_t kChecksumBytes = 8;  // After each block.
inline constexpr uint32_t kMostBlockBytes = 1u << 20;
inline constexpr uint64_t kMostDescriptionBytes = 64u << 20;
inline constexpr uint64_t kSectionMultiple = 64;  // Bytes: where a part of the payload begins.

// All but `shard` is the same in the headers of one checkpoint.
struct ShardHeader {
  Hash128 id{};  // Of everything in the header (id and shard as 0) and the payload.
  uint64_t job = 0;
  uint64_t step = 0;
  uint64_t seed = 0;
  uint64_t optimizer_steps = 0;
  CheckpointCode code;
  uint64_t matrix_hash = 0;  // Hash64 of the parity rows, m x k bytes.
  uint32_t shard = 0;
  uint32_t block_bytes = 0;  // Of all stripes but the last.
  uint64_t description_bytes = 0;
  uint64_t parameters = 0;       // Floats.
  uint64_t optimizer_state = 0;  // Floats.

  uint32_t shards() const { return code.data + code.parity; }
};

using HeaderBytes = std::array<std::byte, kHeaderBytes>;
HeaderBytes PackHeader(const ShardHeader& header);
// kDataError when it is damaged or no header; kConflict when a newer program wrote it.
Result<ShardHeader> ParseHeader(BytesView bytes);

// Where everything is, as the header's sizes have it.
class ShardLayout {
 public:
  explicit ShardLayout(const ShardHeader& header);

  uint64_t payload_bytes() const { return payload_bytes_; }
  uint64_t stripes() const { return stripes_; }
  uint64_t file_bytes() const { return BlockOffset(stripes_) + kFooterBytes; }
  // Of one block of the stripe; in a file its checksum follows.
  size_t BlockBytes(uint64_t stripe) const;
  uint64_t BlockOffset(uint64_t stripe) const;  // Of `stripes`: the footer's.
  // Of the first byte in the payload of data block `index`.
  uint64_t PayloadOffset(uint64_t stripe, uint32_t index) const;

 private:
  uint64_t payload_bytes_;
  uint64_t stripes_;
  uint32_t data_;
  size_t block_bytes_;
  size_t last_block_bytes_;
};

// What a payload of this size is cut into: whole blocks of 1 MiB, or smaller ones if it is small.
uint32_t BlockBytesFor(uint64_t payload_bytes, uint32_t data);

// Names the block too, so that one from elsewhere is not taken for it.
uint64_t BlockChecksum(const Hash128& id, uint32_t shard, uint64_t stripe, BytesView block);

using FooterBytes = std::array<std::byte, kFooterBytes>;
// `content` is the hash of all bytes before the footer.
FooterBytes PackFooter(const ShardHeader& header, const Hash128& content);

// "node-03", "node-03/step-000000000120.shard".
std::string ShardFolder(uint32_t shard);
std::string ShardPath(uint32_t shard, uint64_t step);
// "node-03/step-000000000120.writing": lies beside a shard from before it has its name until all of
// the checkpoint was read back, so that what an interrupted write left is known as that.
std::string WritingMarkPath(uint32_t shard, uint64_t step);
inline constexpr const char* kWritingMarkSuffix = ".writing";
inline constexpr const char* kTemporarySuffix = ".tmp";  // Of shards that are being written.
inline constexpr const char* kOrphanInfix =
    ".shard.orphan-";  // Of those moved aside; a number ends.

}  // namespace motley
