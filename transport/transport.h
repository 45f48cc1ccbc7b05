// SPDX-License-Identifier: Apache-2.0
// Carries framed messages between nodes: unchanged, at most once, in order per peer and priority.
// Messages are lost only with their connection; OnLost then runs, once. Nothing blocks. Loop thread
// only. There are implementations over streams (transport/stream), inside one process, and for the
// simulator; all pass one test suite.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/function.h"
#include "base/status.h"
#include "transport/peer_identity.h"
#include "transport/wire/header.h"

namespace motley {

using PeerId = uint64_t;  // A connection, numbered by this end from 1; ids are never reused.
using SendId = uint64_t;  // Never 0; ids are never reused.

// Control overtakes bulk messages that have not started. No message interrupts another. Copies of
// data have no priority of their own: PartitionFeed sends the next piece of them when the one
// before has come, so that none wait in queues and buffers.
enum class Priority : uint8_t { kControl = 0, kBulk = 1 };

// Bytes of one connection, headers included.
struct Traffic {
  uint64_t received = 0;
  uint64_t sent = 0;  // Bytes that have left this process.
};

// A node's handler of incoming messages. All calls come on the loop thread.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // A connection is up: one of our own (from Connect) or one that Listen accepted. Nothing that
  // the peer sent was looked at yet.
  virtual void OnConnected(PeerId peer, const PeerIdentity& identity) = 0;
  // Returns room for the payload: `header.length` bytes that stay valid until OnPayloadDone or
  // OnLost. An empty span makes the transport read and discard it. Not called for empty payloads.
  virtual std::span<std::byte> OnPayload(PeerId peer, const Header& header) = 0;
  // The message is complete and its checksum is right. `discarded`: OnPayload gave no room.
  virtual void OnPayloadDone(PeerId peer, const Header& header, bool discarded) = 0;
  // The transport cannot accept connections, or soon cannot. Called at most once per transport,
  // with kResource.
  virtual void OnShortage(const Status& /*why*/) {}
  // The connection is gone, or never came up. Nothing more comes from this peer, and every Done of
  // it has run. `why` is kDataError or kConflict if the peer's bytes were at fault,
  // kInvalidArgument if the address given to Connect makes no sense, and kUnavailable otherwise.
  virtual void OnLost(PeerId peer, const Status& why) = 0;
};

// Callbacks may call any function of the transport, Close included, but may not destroy it.
class Transport {
 public:
  // Called exactly once per Send. The Status is fine when the last byte has left this process,
  // kCancelled after Cancel, kUnavailable when the peer is lost or the transport closes, and
  // kInvalidArgument when the pieces exceed MaxPayload of the header's kind. The pieces may be
  // reused from then on. Done never runs inside Send (unless the transport is closed), but may run
  // inside Cancel, Disconnect and Close.
  using Done = Function<void(Status)>;

  virtual ~Transport() = default;

  // The receiver must outlive the transport, or be set to null first.
  virtual void SetReceiver(Receiver* receiver) = 0;
  // Accepts connections at "host:port"; port 0 takes a free one. Returns the address in use.
  // kUnavailable names the address and the reason (in use, no such interface). A connection that
  // comes before there is a receiver waits for one.
  virtual Result<std::string> Listen(const std::string& address) = 0;
  // Accepts no further connections; existing ones stay.
  virtual void StopListening() = 0;
  // Starts connecting; OnConnected or OnLost follows.
  virtual PeerId Connect(const std::string& address) = 0;
  // Sends header and pieces as one message without copying, and fills in header.length. The pieces
  // must stay valid until `done` runs. Send never refuses and has no limit: callers bound what they
  // queue. A server queues one version of the parameters per worker, and a few blocks of data if a
  // step needs them (Publisher and PartitionFeed take back or hold back the rest); a worker queues
  // two vectors (Outbox).
  virtual SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces,
                      Priority priority, Done done) = 0;
  // Takes back a message if no byte of it has left; no effect otherwise.
  virtual void Cancel(SendId id) = 0;
  // Payload bytes accepted by Send and not yet done.
  virtual size_t QueuedBytes(PeerId peer) const = 0;
  // The bytes that have passed so far. Both counts grow while a long message is on its way. Zeros
  // when the peer is not connected.
  virtual Traffic TrafficOf(PeerId peer) const = 0;
  // Closes one connection. Its pending Done run, but OnLost is not called.
  virtual void Disconnect(PeerId peer) = 0;
  // Closes everything, for good. All Done run before it returns. No callback runs afterwards,
  // except that a later Send runs its Done at once. The destructor closes, too.
  virtual void Close() = 0;
};

}  // namespace motley
