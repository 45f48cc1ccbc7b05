// SPDX-License-Identifier: Apache-2.0
// The bytes of a shard file, version 1: a header, one block of each stripe with its checksum, and a
// footer. All numbers are little-endian. docs/decisions/0006-checkpoint-format.md has the table.
// Pure.
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
inline constexpr uint32_t kMostShards = 100;  // Folder names have two digits.
inline constexpr size_t kHeaderBytes = 512;   // One sector.
inline constexpr size_t kFooterBytes = 64;
inline constexpr size_t kChecksumBytes = 8;  // After each block.
inline constexpr uint32_t kMostBlockBytes = 1u << 20;
inline constexpr uint64_t kMostDescriptionBytes = 64u << 20;
// In bytes; alignment of a section of the payload.
inline constexpr uint64_t kSectionMultiple = 64;

// All headers of a checkpoint are equal except for `shard`.
struct ShardHeader {
  Hash128 id{};  // Hash of the header (with id and shard 0) and the payload.
  uint64_t job = 0;
  uint64_t step = 0;
  uint64_t seed = 0;
  uint64_t optimizer_steps = 0;
  CheckpointCode code;
  uint64_t matrix_hash = 0;  // Hash64 of the parity rows, m x k bytes.
  uint32_t shard = 0;
  uint32_t block_bytes = 0;  // Size of a block in all stripes but the last.
  uint64_t description_bytes = 0;
  uint64_t parameters = 0;       // Number of floats.
  uint64_t optimizer_state = 0;  // Number of floats.

  uint32_t shards() const { return code.data + code.parity; }
};

using HeaderBytes = std::array<std::byte, kHeaderBytes>;
HeaderBytes PackHeader(const ShardHeader& header);
// kDataError: it is damaged or not a header. kConflict: a newer program wrote it.
Result<ShardHeader> ParseHeader(BytesView bytes);

// Offsets and sizes in a shard file, from the header.
class ShardLayout {
 public:
  explicit ShardLayout(const ShardHeader& header);

  uint64_t payload_bytes() const { return payload_bytes_; }
  uint64_t stripes() const { return stripes_; }
  uint64_t file_bytes() const { return BlockOffset(stripes_) + kFooterBytes; }
  // Size of a block of the stripe, without its checksum.
  size_t BlockBytes(uint64_t stripe) const;
  uint64_t BlockOffset(uint64_t stripe) const;  // For `stripes`: offset of the footer.
  // Offset in the payload of the first byte of data block `index`.
  uint64_t PayloadOffset(uint64_t stripe, uint32_t index) const;

 private:
  uint64_t payload_bytes_;
  uint64_t stripes_;
  uint32_t data_;
  size_t block_bytes_;
  size_t last_block_bytes_;
};

// Block size for a payload of this size: 1 MiB, or less if it is small.
uint32_t BlockBytesFor(uint64_t payload_bytes, uint32_t data);

// The checksum covers the block's identity, so that a block from elsewhere does not match.
uint64_t BlockChecksum(const Hash128& id, uint32_t shard, uint64_t stripe, BytesView block);

using FooterBytes = std::array<std::byte, kFooterBytes>;
// `content` is the hash of all bytes before the footer.
FooterBytes PackFooter(const ShardHeader& header, const Hash128& content);

// Names like "node-03" and "node-03/step-000000000120.shard".
std::string ShardFolder(uint32_t shard);
std::string ShardPath(uint32_t shard, uint64_t step);
// A path like "node-03/step-000000000120.writing". The mark is there from before the shard gets its
// name until all of the checkpoint was read back. So the files of an interrupted write are
// recognised.
std::string WritingMarkPath(uint32_t shard, uint64_t step);
inline constexpr const char* kWritingMarkSuffix = ".writing";
inline constexpr const char* kTemporarySuffix = ".tmp";  // Suffix of shards that are being written.
inline constexpr const char* kOrphanInfix =
    ".shard.orphan-";  // A number follows; the file was moved aside.

}  // namespace motley
