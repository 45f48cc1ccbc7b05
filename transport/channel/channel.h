// SPDX-License-Identifier: Apache-2.0
// The messages of one connection, over any PeerStream: frames, the send queue and its window, and
// shared memory where the stream passes files (shared_link.h). Loop thread only. Held by
// shared_ptr, so that a callback may close the channel that runs it.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/loop/loop.h"
#include "base/parallel.h"
#include "base/status.h"
#include "transport/memory/shared_link.h"
#include "transport/send_queue.h"
#include "transport/stream/peer_stream.h"
#include "transport/transport.h"
#include "transport/wire/frame_reader.h"

namespace motley {

class Channel final : public PeerStream::Handler,
                      public FrameReader::Sink,
                      public std::enable_shared_from_this<Channel> {
 public:
  // A channel's interface to its transport.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual Receiver* receiver() const = 0;  // May be null.
    // The connection failed: closes it, settles its messages and notifies the receiver.
    virtual void OnConnectionLost(Channel& channel, const Status& why) = 0;
    // Runs `task` in a later turn of the loop, or while the transport closes.
    virtual void RunLater(Task task) = 0;
    // A message started to wait here or, with `waits` false, stopped waiting. Cancel finds it this
    // way.
    virtual void OnWaiting(SendId id, PeerId peer, bool waits) = 0;
    // The memory that peers on this machine read, and its file. Null: none.
    virtual SharedArena* arena() = 0;
    virtual const PassableFile* arena_file() = 0;
    virtual ParallelFor* parallel() const = 0;  // For copying payloads; may be null.
  };

  Channel(PeerId peer, Owner& owner) : peer_(peer), owner_(&owner) {}

  // The connection is up: tells the receiver, and starts to read. Until then messages wait.
  void Start(std::unique_ptr<PeerStream> stream);

  void Send(Outgoing message);
  // Takes back a message that was not handed to the stream; nothing when it is not waiting here.
  std::optional<Outgoing> Remove(SendId id);
  // Payload bytes whose Done has not run.
  size_t queued_bytes() const { return queue_.bytes() + in_flight_payload_; }
  Traffic traffic() const;
  // Closes the stream and hands back every message whose Done has not run. No call to the owner
  // follows.
  std::vector<Outgoing> Close();

  PeerId peer() const { return peer_; }

  void OnRead(size_t count) override;
  void OnWritten() override;
  void OnEnd(const Status& why) override;

  std::span<std::byte> OnPayload(const Header& header) override;
  void OnPayloadDone(const Header& header, bool discarded) override;
  Result<BytesView> OnShared(const SharedPlace& place, size_t length) override;
  void CopyShared(BytesView from, std::byte* to) override;
  bool OnSharedRead(const SharedPlace& place, size_t length) override;
  bool OnRelease(uint64_t count) override;

 private:
  // What was handed to the stream in one Write.
  struct InFlight {
    std::optional<Outgoing> message;  // Nothing: only a report of payloads read.
    size_t header_bytes = 0;
    std::array<std::byte, 2 * kHeaderSize> headers;  // A report comes first.

    void Add(const DecodedHeader& frame);
  };

  const std::string& name() const { return stream_->peer().address; }
  void ReadNext();
  bool MayStart(const Outgoing& message) const;
  void Pump();
  void Write(Outgoing message);
  void Submit(std::span<const BytesView> pieces, bool introduce);
  void ReportRead();
  void TakeView();
  void FailLater(Status why);
  void Fail(const Status& why);

  const PeerId peer_;
  Owner* owner_;  // Null once closed.
  std::unique_ptr<PeerStream> stream_;
  FrameReader reader_{*this};
  SendQueue queue_;
  std::deque<InFlight> in_flight_;  // In order. Elements keep their place: the stream reads them.
  size_t in_flight_payload_ = 0;
  size_t socket_payload_ = 0;  // The part of it that is not in shared memory.
  uint64_t received_bytes_ = 0;
  uint64_t submitted_bytes_ = 0;        // Handed to the stream.
  std::unique_ptr<SharedLink> shared_;  // Null: the stream passes no files.
};

}  // namespace motley
