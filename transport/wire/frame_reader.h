// SPDX-License-Identifier: Apache-2.0
// Turns the bytes of a connection into messages: the receiving half of the wire format, without
// sockets. Its own memory is one small buffer. The sink decides where a payload goes, once the
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
  // Handles the messages of one peer, with the contract of Receiver's functions of the same names.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual std::span<std::byte> OnPayload(const Header& header) = 0;
    virtual void OnPayloadDone(const Header& header, bool discarded) = 0;
    // `length` bytes in the peer's shared memory, which the peer may change at any time. Empty when
    // it has no such place.
    virtual Result<BytesView> OnShared(const SharedPlace& /*place*/, size_t /*length*/) {
      return BytesView();
    }
    virtual void CopyShared(BytesView from, std::byte* to) { CopyBytes(nullptr, from, to); }
    // The bytes were read. Returns false if the peer changed them meanwhile.
    virtual bool OnSharedRead(const SharedPlace& /*place*/, size_t /*length*/) { return false; }
    // The peer has read this many payloads in our shared memory. Returns false if that is
    // impossible.
    virtual bool OnRelease(uint64_t /*count*/) { return false; }
  };

  static constexpr size_t kStagingBytes = 64u << 10;

  explicit FrameReader(Sink& sink);

  // Room for the next bytes; never empty. It is often the sink's own memory, so that the kernel's
  // copy of a payload is the only one.
  std::span<std::byte> Room();
  // Reports that the first `count` bytes of Room() came in, and calls the sink for every message
  // they complete. After kDataError or kConflict (the bytes are no message) nothing more may be
  // read.
  Status Advance(size_t count);
  // To be called from inside a sink's function: Advance then returns without another call, and the
  // sink's room is not used any more.
  void Stop() { stopped_ = true; }
  // False inside a message: the connection must not end here.
  bool AtBoundary() const { return !in_payload_ && begin_ == end_; }

 private:
  Status Consume();
  Status StartFrame();
  Status TakeShared();
  Status AddPayload(BytesView bytes);
  Status FinishFrame();

  Sink& sink_;
  Bytes staging_;
  size_t begin_ = 0;  // staging_[begin_, end_) came in and was not used yet.
  size_t end_ = 0;
  bool stopped_ = false;
  bool in_payload_ = false;
  DecodedHeader frame_;
  std::span<std::byte> room_;  // From the sink; empty: discard.
  size_t received_ = 0;        // Bytes of the payload.
  Checksum checksum_;
};

}  // namespace motley
