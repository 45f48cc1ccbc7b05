// SPDX-License-Identifier: Apache-2.0
// The frame on the wire: 136 bytes of header, then `length` bytes of payload. Little-endian. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/tally.h"

namespace motley {

enum class FrameKind : uint8_t {
  kControl = 1,  // A FlatBuffers `wire.Control` (control.fbs).
  // A slice of an answer: row_id (the order), step, version, offset (floats), norm, sketch, tally.
  kGradient = 2,
  kParameters = 3,  // A slice of the parameters of `version`: offset (floats).
  kPartition = 4,   // A whole encoded block of the data: row_id is the partition.
  kRelease = 5,  // Between transports alone: `offset` payloads in shared memory were read so far.
  kProbe = 6,    // Bytes that a link is measured with (runtime/links/probe_desk.h, vector_probe.h).
};

// What a message is about. Unused fields are 0.
struct Header {
  FrameKind kind = FrameKind::kControl;
  uint32_t job = 0;
  Incarnation incarnation = 0;  // Of the worker the message is from, or meant for.
  StepId step = 0;
  uint64_t version = 0;  // Of the parameters used or carried.
  uint32_t row_id = 0;
  uint32_t shard = 0;
  uint64_t offset = 0;
  uint64_t total = 0;   // Length of the whole object that this is a slice of, in units of offset.
  double norm = 0;      // 2-norm of this slice, said before its payload,
  double sketch = 0;    // and its projection on SignsOf (runtime/links/slicing.h).
  Tally tally;          // Of the whole answer, said with each of its slices.
  uint32_t length = 0;  // Payload bytes.
  // Of a slice: those before it had left when it was computed. What passed since they came is not
  // the link's doing.
  bool paused = false;
};

// Both ends must speak the same one; every header says it.
inline constexpr uint32_t kProtocolVersion = 8;
inline constexpr size_t kHeaderSize = 136;
inline constexpr uint32_t kMaxControlBytes = 1u << 20;
inline constexpr uint32_t kMaxBulkBytes = 16u << 20;

// Largest payload a frame of this kind may announce.
uint32_t MaxPayload(FrameKind kind);
// kResource when a message of this kind cannot carry so many bytes.
Status CheckSendable(FrameKind kind, size_t bytes);

// How the payload travels.
struct DecodedHeader {
  Header header;
  // XXH3-64 of the payload; in shared memory: SharedPlace's `writing`.
  uint64_t payload_checksum = 0;
  // False between processes of one machine, where there is no wire to damage it.
  bool checked = true;
  // 0: it follows the header. Otherwise it lies at page `shared_page - 1` of the sender's shared
  // memory (shared_memory.h), and the next header follows.
  uint32_t shared_page = 0;
};

// The header carries its own XXH3-64, too.
std::array<std::byte, kHeaderSize> EncodeHeader(const DecodedHeader& header);
inline std::array<std::byte, kHeaderSize> EncodeHeader(const Header& header,
                                                       uint64_t payload_checksum) {
  return EncodeHeader(DecodedHeader{header, payload_checksum, true, 0});
}

// kDataError: wrong magic, checksum, kind, or a length above MaxPayload (nothing was allocated);
// kConflict: another protocol version, with both versions in the text (looked at before the
// checksum, because another version may have another layout).
Result<DecodedHeader> DecodeHeader(std::span<const std::byte, kHeaderSize> bytes);

}  // namespace motley
