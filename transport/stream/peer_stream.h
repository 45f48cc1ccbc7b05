// SPDX-License-Identifier: Apache-2.0
// The bytes between two nodes, below the frames of a Channel. Each scheme of the list (schemes.h)
// has a stream. All pass one test suite (tests/conformance/stream_suite.h). Loop thread only.
//
// A stream reads only what it is asked for: each ReadInto takes the bytes that come next straight
// into memory of the caller's choice, so the kernel's copy of a payload is the only one.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "transport/peer_identity.h"

namespace motley {

class PassableFile;

class PeerStream {
 public:
  // All calls come in later turns of the loop, never inside a function of the stream. Every one of
  // them may destroy the stream, and none follows its destruction.
  class Handler {
   public:
    virtual ~Handler() = default;
    // The first `count` bytes (at least one) of the room that ReadInto was given are filled. The
    // stream reads on when it is given room again.
    virtual void OnRead(size_t count) = 0;
    // The oldest Write that was not reported has left this process; its memory may be reused.
    virtual void OnWritten() = 0;
    // No further call follows. The Status is fine if the peer closed the stream; everything that
    // the peer sent was then read.
    virtual void OnEnd(const Status& why) = 0;
  };

  explicit PeerStream(PeerIdentity peer) : peer_(std::move(peer)) {}
  // Closes the stream. Bytes of Writes that were reported still reach the peer.
  virtual ~PeerStream() = default;
  PeerStream(const PeerStream&) = delete;
  PeerStream& operator=(const PeerStream&) = delete;

  // To be called before any other function.
  void SetHandler(Handler* handler) { handler_ = handler; }
  const PeerIdentity& peer() const { return peer_; }

  // Reads some bytes into `room`, which is not empty and stays valid until OnRead. To be called
  // once before each OnRead. An error means that the stream cannot read.
  virtual Status ReadInto(std::span<std::byte> room) = 0;
  // Sends `head` and then the pieces, after all earlier Writes, and one OnWritten follows. The
  // bytes stay valid until then. `file` is null or goes along with the first byte (see
  // PassesFiles). An error means that the stream is broken and sends nothing more. When the peer is
  // gone, no OnWritten comes, and reading finds the end: the peer's last bytes may still wait to be
  // read.
  virtual Status Write(BytesView head, std::span<const BytesView> pieces,
                       const PassableFile* file) = 0;
  // Bytes of Writes that have not left this process.
  virtual size_t Unsent() const = 0;
  // The descriptor below the stream; -1 if there is none.
  virtual int descriptor() const { return -1; }

  // True between processes of one machine that can hand open files to each other.
  virtual bool PassesFiles() const { return false; }
  // The number of files that came with the bytes so far and were not taken.
  virtual size_t PendingFiles() const { return 0; }
  // Takes the oldest of them. The caller owns the descriptor. -1: there is none, or this process
  // has no descriptor left.
  virtual int TakeFile() { return -1; }

 protected:
  Handler* handler() const { return handler_; }

 private:
  const PeerIdentity peer_;
  Handler* handler_ = nullptr;
};

}  // namespace motley
