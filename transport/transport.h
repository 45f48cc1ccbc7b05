// SPDX-License-Identifier: Apache-2.0
// Carries framed messages between nodes: unchanged, at most once, in order per peer and priority.
// Messages are lost only with their connection, and then OnLost runs, once. Nothing blocks. Loop
// thread only. TCP over libuv, in one process, and simulated implementations pass one suite.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/function.h"
#include "base/status.h"
#include "transport/wire/header.h"

namespace motley {

using PeerId = uint64_t;  // A connection, numbered by this end from 1; never reused.
using SendId = uint64_t;  // Never 0, never reused.

// Control overtakes bulk that has not started; never inside a message.
enum class Priority : uint8_t { kControl = 0, kBulk = 1 };

// Bytes of one connection, headers included.
struct Traffic {
  uint64_t received = 0;
  uint64_t sent = 0;  // Left this process.
};

// What a node does with what arrives. All calls come on the loop thread.
class Receiver {
 public:
  virtual ~Receiver() = default;
  // A connection is up: one of ours (from Connect) or one accepted by Listen.
  virtual void OnConnected(PeerId peer) = 0;
  // Where to put the payload: `header.length` bytes that stay valid until OnPayloadDone or OnLost.
  // Empty: read and discard. Not called for empty payloads.
  virtual std::span<std::byte> OnPayload(PeerId peer, const Header& header) = 0;
  // The message is complete and its checksum held. `discarded`: OnPayload gave no room.
  virtual void OnPayloadDone(PeerId peer, const Header& header, bool discarded) = 0;
  // Connections cannot be accepted, or soon can no longer be: once in a transport's life.
  // kResource.
  virtual void OnShortage(const Status& /*why*/) {}
  // The connection is gone, or never came up; nothing more comes from this peer, and every Done of
  // it has run. `why` is kDataError or kConflict if the peer's bytes were at fault, kUnavailable
  // otherwise (kInvalidArgument: the address given to Connect makes no sense).
  virtual void OnLost(PeerId peer, const Status& why) = 0;
};

// Its callbacks may call anything here, Close included; only destroying it is not for them.
class Transport {
 public:
  // Called exactly once per Send: fine when the last byte has left this process, kCancelled after
  // Cancel, kUnavailable when the peer is lost or the transport closes, kInvalidArgument when the
  // pieces exceed MaxPayload of the header's kind. Pieces may be reused then. Never runs inside
  // Send (unless the transport is closed), but may inside Cancel, Disconnect and Close.
  using Done = Function<void(Status)>;

  virtual ~Transport() = default;

  // The receiver must outlive the transport, or be set to null first.
  virtual void SetReceiver(Receiver* receiver) = 0;
  // Accepts connections at "host:port"; port 0 takes a free one. Returns the address in use.
  // kUnavailable names the address and the reason (in use, no such interface).
  // Who connects before there is a receiver waits until there is one.
  virtual Result<std::string> Listen(const std::string& address) = 0;
  // Takes no further connections; those that are up stay.
  virtual void StopListening() = 0;
  // Starts connecting; OnConnected or OnLost follows.
  virtual PeerId Connect(const std::string& address) = 0;
  // Sends header and pieces as one message without copying; header.length is filled in here.
  // The pieces stay valid until `done`. Never refuses and keeps no limit: whoever sends bounds what
  // waits. A server has one version of the parameters per worker and a few blocks of data
  // (Publisher and PartitionFeed take back or hold back the rest), a worker two vectors (Outbox).
  virtual SendId Send(PeerId peer, Header header, std::span<const BytesView> pieces,
                      Priority priority, Done done) = 0;
  // Takes back a message of which no byte has left; no effect otherwise.
  virtual void Cancel(SendId id) = 0;
  // Payload bytes accepted by Send and not yet done.
  virtual size_t QueuedBytes(PeerId peer) const = 0;
  // The machine at the other end: its address without the port, and the same text for all
  // connections from there. Empty: the peer is not connected.
  virtual std::string HostOf(PeerId peer) const = 0;
  // What has passed so far: both counts grow while a long message is on its way. Zeros: the peer is
  // not connected.
  virtual Traffic TrafficOf(PeerId peer) const = 0;
  // Closes one connection; OnLost is not called, pending Done are.
  virtual void Disconnect(PeerId peer) = 0;
  // Closes everything, for good. All Done run before it returns; no callback runs afterwards, save
  // that a later Send runs its Done at once. Destruction closes, too.
  virtual void Close() = 0;
};

}  // namespace motley
