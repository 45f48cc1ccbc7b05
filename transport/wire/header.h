// SPDX-License-Identifier: Apache-2.0
// The frame on the wire: a header of 144 bytes, then `length` bytes of payload. Little-endian.
// Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/tally.h"
#include "base/wire_format.h"

namespace motley {

enum class FrameKind : uint8_t {
  kControl = 1,  // A FlatBuffers `wire.Control` (control.fbs).
  // A slice of an answer; row_id, step, version, shard, offset (floats), norm, sketch and tally are
  // set.
  kGradient = 2,
  kParameters = 3,  // A slice of the parameters of `version`; shard, offset (floats).
  kPartition = 4,   // A whole encoded block of the data; row_id is the partition.
  kRelease = 5,     // Between transports only: `offset` payloads in shared memory were read so far.
  kProbe = 6,       // Bytes that measure a link (runtime/links/probe_desk.h, vector_probe.h).
  kCollective = 7,  // Between members of a group that sum a vector (collective/members.h).
  kShardState = 8,  // A slice of a shard's values and optimizer state; shard, version, offset.
  kShardSum = 9,    // A slice of an update's sum, from a shard's owner to its follower; step,
                    // attempt, shard, offset.
  kLoad = 10,       // Bytes that load a link while all links are measured (survey/link_load.h).
  kShardCopy = 11,  // A piece of what an owner keeps for a checkpoint; shard, version, offset, and
                    // as row_id the copy's id.
};

// The subject of a message. Unused fields are 0.
struct Header {
  FrameKind kind = FrameKind::kControl;
  uint32_t job = 0;
  Incarnation incarnation = 0;  // The sending or addressed worker's.
  StepId step = 0;
  uint64_t version = 0;  // Version of the parameters used or carried.
  uint32_t row_id = 0;
  uint32_t shard = 0;
  // How often the update of a gradient or a sum was opened, or the epoch of parameters' shard.
  uint32_t attempt = 0;
  // A gradient's row of the code, or which vector of a list it is. For parameters, how often an
  // update was taken back before they were sent.
  uint32_t row = 0;
  uint64_t offset = 0;
  uint64_t total = 0;  // Length of the whole object, in the units of offset; this is a slice of it.
  double norm = 0;     // 2-norm of this slice, sent ahead of its payload.
  double sketch = 0;   // Projection of this slice on SignsOf (runtime/links/slicing.h).
  Tally tally;         // For the whole answer; every slice repeats it.
  uint32_t length = 0;  // Payload bytes.
  // How the floats of gradients, parameters and probes travel; other kinds have float32.
  WireFormat format = WireFormat::kFloat32;
  // The slices before this one had left before it was computed. The time since then does not count
  // against the link.
  bool paused = false;
};

// Both ends must have the same version; every header carries it.
inline constexpr uint32_t kProtocolVersion = 18;
inline constexpr size_t kHeaderSize = 144;
inline constexpr uint32_t kMaxControlBytes = 1u << 20;
inline constexpr uint32_t kMaxBulkBytes = 16u << 20;

// The largest payload that a frame of this kind may announce.
uint32_t MaxPayload(FrameKind kind);
// kResource when a message of this kind cannot carry this many bytes.
Status CheckSendable(FrameKind kind, size_t bytes);

// A header, and how the payload travels.
struct DecodedHeader {
  Header header;
  // XXH3-64 of the payload, or SharedPlace's `writing` for one in shared memory.
  uint64_t payload_checksum = 0;
  // False between processes of one machine: there is no wire that could damage the payload.
  bool checked = true;
  // 0: the payload follows the header. Otherwise it is at page `shared_page - 1` of the sender's
  // shared memory (shared_memory.h), and the next header follows.
  uint32_t shared_page = 0;
};

// Writes the header with its own XXH3-64.
std::array<std::byte, kHeaderSize> EncodeHeader(const DecodedHeader& header);
inline std::array<std::byte, kHeaderSize> EncodeHeader(const Header& header,
                                                       uint64_t payload_checksum) {
  return EncodeHeader(DecodedHeader{header, payload_checksum, true, 0});
}

// kDataError: wrong magic, checksum or kind, or a length above MaxPayload; nothing was allocated.
// kConflict: another protocol version; the text names both. The version is checked before the
// checksum, because another version may have another layout.
Result<DecodedHeader> DecodeHeader(std::span<const std::byte, kHeaderSize> bytes);

}  // namespace motley
