// SPDX-License-Identifier: Apache-2.0
// Bytes of a connection in, messages out: the receiving half of the wire format, without sockets.
// Its own memory is one small buffer; where a payload goes is the sink's decision, made when the
// header is known to be whole. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "transport/memory/shared_memory.h"
#include "transport/wire/checksum.h"
#include "transport/wire/header.h"

namespace motley {

class FrameReader {
 public:
  // As Receiver's functions of the same names, for one peer.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual std::span<std::byte> OnPayload(const Header& header) = 0;
    virtual void OnPayloadDone(const Header& header, bool discarded) = 0;
    // `length` bytes in the peer's shared memory, which it may change at any time; empty when it
    // has no such place.
    virtual Result<BytesView> OnShared(const SharedPlace& /*place*/, size_t /*length*/) {
      return BytesView();
    }
    virtual void CopyShared(BytesView from, std::byte* to) { CopyBytes(nullptr, from, to); }
    // They were read. False: the peer did change them.
    virtual bool OnSharedRead(const SharedPlace& /*place*/, size_t /*length*/) { return false; }
    // The peer has read so many payloads in our shared memory. False: it cannot have.
    virtual bool OnRelease(uint64_t /*count*/) { return false; }
  };

  static constexpr size_t kStagingBytes = 64u << 10;

  explicit FrameReader(Sink& sink);

  // Where to put the bytes that come next; never empty. Often the sink's own memory, so that a
  // payload is copied once, by the kernel.
  std::span<std::byte> Room();
  // Says that the first `count` bytes of Room() came in; calls the sink for what they complete.
  // kDataError or kConflict when they are no message; nothing more may be read then.
  Status Advance(size_t count);
  // From inside a sink's function: Advance returns without another call, and the room that the sink
  // gave is forgotten.
  void Stop() { stopped_ = true; }
  // False inside a message: the bytes must not end here.
  bool AtBoundary() const { return !in_payload_ && begin_ == end_; }

 private:
  Status Consume();
  Status StartFrame();
  Status TakeShared();
  Status AddPayload(BytesView bytes);
  Status FinishFrame();

  Sink& sink_;
  Bytes staging_;
  size_t begin_ = 0;  // staging_[begin_, end_) came in and is not used yet.
  size_t end_ = 0;
  bool stopped_ = false;
  bool in_payload_ = false;
  DecodedHeader frame_;
  std::span<std::byte> room_;  // From the sink; empty: discard.
  size_t received_ = 0;        // Of the payload.
  Checksum checksum_;
};

}  // namespace motley
