// SPDX-License-Identifier: Apache-2.0
// The payload of a checkpoint: description, parameters and optimizer state in sequence, each padded
// with zeros to a multiple of kSectionMultiple. It is never in memory as a whole. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "checkpoint/shard_format.h"

namespace motley {

inline constexpr size_t kSections = 3;

struct PayloadSections {
  explicit PayloadSections(const ShardHeader& header);

  std::array<uint64_t, kSections> offset;
  std::array<uint64_t, kSections> size_bytes;
  uint64_t total_bytes;
};

// Reads the payload from the sections' memory.
class PayloadSource {
 public:
  PayloadSource(const ShardHeader& header, std::array<BytesView, kSections> parts)
      : sections_(header), parts_(parts) {}
  // Copies the payload from `offset` on, with zeros between and after the sections.
  void Copy(uint64_t offset, std::span<std::byte> to) const;
  // The id of this payload with `header`.
  Hash128 Id(const ShardHeader& header) const;

 private:
  PayloadSections sections_;
  std::array<BytesView, kSections> parts_;
};

// Memory for the sections, to be filled.
class PayloadSink {
 public:
  PayloadSink(const ShardHeader& header, std::array<std::span<std::byte>, kSections> parts)
      : sections_(header), parts_(parts) {}
  void Copy(uint64_t offset, BytesView from) const;

 private:
  PayloadSections sections_;
  std::array<std::span<std::byte>, kSections> parts_;
};

// Computes the id of a payload that arrives in order, in pieces.
class PayloadHash {
 public:
  explicit PayloadHash(const ShardHeader& header);
  // Bytes beyond the payload's end are ignored.
  void Add(BytesView piece);
  Hash128 Value() const { return stream_.Value(); }

 private:
  HashStream stream_;
  uint64_t left_bytes_;
};

}  // namespace motley
