// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/payload.h"

#include <algorithm>
#include <cstring>

namespace motley {
namespace {

// Calls `copy(part, offset in the part, offset in the piece, bytes)` for every part of the payload
// that overlaps the piece of `size` bytes at `offset`.
template <typename Copy>
void ForEachOverlap(const PayloadSections& sections, uint64_t offset, uint64_t size,
                    const Copy& copy) {
  for (size_t part = 0; part < kSections; ++part) {
    const uint64_t begin = std::max(offset, sections.offset[part]);
    const uint64_t end = std::min(offset + size, sections.offset[part] + sections.size_bytes[part]);
    if (begin < end) copy(part, begin - sections.offset[part], begin - offset, end - begin);
  }
}

}  // namespace

PayloadSections::PayloadSections(const ShardHeader& header)
    : size_bytes{header.description_bytes, header.parameters * sizeof(float),
                 header.optimizer_state * sizeof(float)} {
  total_bytes = 0;
  for (size_t part = 0; part < kSections; ++part) {
    offset[part] = total_bytes;
    const uint64_t units = (size_bytes[part] + kSectionMultiple - 1) / kSectionMultiple;
    total_bytes += units * kSectionMultiple;
  }
}

void PayloadSource::Copy(uint64_t offset, std::span<std::byte> to) const {
  std::fill(to.begin(), to.end(), std::byte{0});
  ForEachOverlap(sections_, offset, to.size(),
                 [&](size_t part, uint64_t from, uint64_t at, uint64_t size) {
                   std::memcpy(to.data() + at, parts_[part].data() + from, size);
                 });
}

Hash128 PayloadSource::Id(const ShardHeader& header) const {
  constexpr std::array<std::byte, kSectionMultiple> kZeros{};
  PayloadHash hash(header);
  for (size_t part = 0; part < kSections; ++part) {
    hash.Add(parts_[part]);
    const size_t over = parts_[part].size() % kSectionMultiple;
    if (over != 0) hash.Add(BytesView(kZeros).first(kSectionMultiple - over));
  }
  return hash.Value();
}

void PayloadSink::Copy(uint64_t offset, BytesView from) const {
  ForEachOverlap(sections_, offset, from.size(),
                 [&](size_t part, uint64_t to, uint64_t at, uint64_t size) {
                   std::memcpy(parts_[part].data() + to, from.data() + at, size);
                 });
}

PayloadHash::PayloadHash(const ShardHeader& header)
    : left_bytes_(PayloadSections(header).total_bytes) {
  ShardHeader bare = header;
  bare.id = {};
  bare.shard = 0;
  stream_.Add(PackHeader(bare));
}

void PayloadHash::Add(BytesView piece) {
  const auto size = static_cast<size_t>(std::min<uint64_t>(piece.size(), left_bytes_));
  stream_.Add(piece.first(size));
  left_bytes_ -= size;
}

}  // namespace motley
