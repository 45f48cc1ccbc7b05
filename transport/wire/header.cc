// SPDX-License-Identifier: Apache-2.0
#include "transport/wire/header.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <iterator>

namespace motley {
namespace {

static_assert(sizeof(Tally) == 4 * sizeof(double));

constexpr uint32_t kMagic = 0x594c544du;  // "MTLY"
// The header's own checksum, its last eight bytes, covers all bytes before it.
constexpr size_t kChecked = kHeaderSize - sizeof(uint64_t);

bool KnownKind(uint16_t kind) {
  return kind >= static_cast<uint16_t>(FrameKind::kControl) &&
         kind <= static_cast<uint16_t>(FrameKind::kShardCopy);
}

// The field of flags holds the shared page and these bits.
constexpr uint32_t kUnchecked = 1u << 31;
constexpr uint32_t kPaused = 1u << 30;

}  // namespace

Status CheckSendable(FrameKind kind, size_t bytes) {
  if (bytes <= MaxPayload(kind)) return Status::Ok();
  return Status::Resource(fmt::format("a message of {} bytes is too long: at most {} are allowed",
                                      bytes, MaxPayload(kind)));
}

uint32_t MaxPayload(FrameKind kind) {
  switch (kind) {
    case FrameKind::kControl: return kMaxControlBytes;
    case FrameKind::kRelease: return 0;
    default: return kMaxBulkBytes;
  }
}

std::array<std::byte, kHeaderSize> EncodeHeader(const DecodedHeader& frame) {
  const Header& header = frame.header;
  std::array<std::byte, kHeaderSize> bytes{};
  size_t at = 0;
  const auto put = [&](auto value) {
    std::memcpy(bytes.data() + at, &value, sizeof(value));
    at += sizeof(value);
  };
  put(kMagic);
  put(kProtocolVersion);
  put(static_cast<uint16_t>(header.kind));
  put(static_cast<uint16_t>(header.format));
  put(header.job);
  put(header.incarnation);
  put(header.step);
  put(header.version);
  put(header.row_id);
  put(header.shard);
  put(header.attempt);
  put(header.row);
  put(header.offset);
  put(header.total);
  put(header.norm);
  put(header.sketch);
  put(header.tally);
  put(header.length);
  put(frame.shared_page | (frame.checked ? 0 : kUnchecked) | (header.paused ? kPaused : 0));
  put(frame.payload_checksum);
  MOTLEY_ASSERT(at == kChecked);
  put(static_cast<uint64_t>(XXH3_64bits(bytes.data(), kChecked)));
  return bytes;
}

Result<DecodedHeader> DecodeHeader(std::span<const std::byte, kHeaderSize> bytes) {
  size_t at = 0;
  const auto get = [&]<typename T>(T& value) {
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    at += sizeof(T);
  };
  uint32_t magic = 0;
  uint32_t version = 0;
  uint16_t kind = 0;
  uint16_t format = 0;
  uint32_t flags = 0;
  DecodedHeader decoded;
  Header& header = decoded.header;
  get(magic);
  if (magic != kMagic) {
    return Status::DataError("the peer is not a Motley node: its bytes do not start a frame");
  }
  get(version);  // Before the checksum: other versions may lay out the rest differently.
  if (version != kProtocolVersion) {
    return Status::Conflict(fmt::format(
        "the peer speaks protocol version {}, this node version {}: run the same release on both",
        version, kProtocolVersion));
  }
  uint64_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + kChecked, sizeof(checksum));
  if (checksum != XXH3_64bits(bytes.data(), kChecked)) {
    return Status::DataError("a frame's header was damaged on the way: its checksum is wrong");
  }
  get(kind);
  if (!KnownKind(kind)) {
    return Status::DataError(fmt::format("a frame of unknown kind {}", kind));
  }
  header.kind = static_cast<FrameKind>(kind);
  get(format);
  if (format >= std::size(kWireFormats)) {
    return Status::DataError(fmt::format("a frame of unknown format {}", format));
  }
  header.format = kWireFormats[format];
  get(header.job);
  get(header.incarnation);
  get(header.step);
  get(header.version);
  get(header.row_id);
  get(header.shard);
  get(header.attempt);
  get(header.row);
  get(header.offset);
  get(header.total);
  get(header.norm);
  get(header.sketch);
  get(header.tally);
  get(header.length);
  get(flags);
  decoded.checked = (flags & kUnchecked) == 0;
  header.paused = (flags & kPaused) != 0;
  decoded.shared_page = flags & ~(kUnchecked | kPaused);
  get(decoded.payload_checksum);
  if (header.length > MaxPayload(header.kind)) {
    return Status::DataError(fmt::format("a frame of kind {} announces {} bytes; {} are allowed",
                                         kind, header.length, MaxPayload(header.kind)));
  }
  return decoded;
}

}  // namespace motley
