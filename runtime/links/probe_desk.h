// SPDX-License-Identifier: Apache-2.0
// The server's side of measuring a link. Peers join with the token for nothing else. The server
// echoes their probes, counts the bytes that they stream, and streams to them while they ask for
// it. Loop thread only.
//
// Measurements load a link as training does: slices of a vector both ways at once, as many under
// way as a node has, with control messages between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "runtime/links/probe_stream.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

inline constexpr size_t kMostProbes = 16;  // Connections at a time.

class ProbeDesk {
 public:
  ProbeDesk(Loop& loop, Transport& transport) : loop_(loop), transport_(transport) {}

  // Checks that a peer may measure, by its protocol and token. kConflict, kPermission.
  static Status Check(const wire::ProbeJoinT& join, const std::string& token);
  bool Has(PeerId peer) const { return peers_.contains(peer); }
  // Greets a peer whose token was right. kUnavailable: kMostProbes peers are here already.
  Status Begin(PeerId peer);
  // Takes a message of a peer that Begin greeted. kDataError: it is not about probes.
  Status OnControl(PeerId peer, const wire::ControlT& control);
  // The room for a slice. It is empty if the frame is no probe's or too long.
  std::span<std::byte> Room(PeerId peer, const Header& header);
  void OnSlice(PeerId peer, const Header& header);
  void Forget(PeerId peer);

 private:
  struct Peer {
    std::unique_ptr<ProbeStream> stream;
    Bytes sink;
    uint64_t received = 0;
    Time received_at{};
  };
  Loop& loop_;
  Transport& transport_;
  std::shared_ptr<const Bytes> slice_;
  std::map<PeerId, Peer> peers_;
};

// A node that serves nothing but probes, on a transport that listens. Loop thread only.
class ProbeHost final : private Receiver {
 public:
  // All are borrowed. `joined` (may be null) runs when a peer's token was right.
  ProbeHost(Loop& loop, Transport& transport, std::string token, std::function<void()> joined);
  ~ProbeHost() override;

 private:
  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  void OnLost(PeerId peer, const Status& why) override;
  Status OnControl(PeerId peer, const wire::ControlT& control);
  void Cut(PeerId peer);

  Loop& loop_;
  Transport& transport_;
  const std::string token_;
  const std::function<void()> joined_;
  ProbeDesk desk_;
  std::map<PeerId, Bytes> control_;  // Control messages that are arriving, by peer.
  // Peers that have shown no token yet, the oldest first, with their timeouts.
  std::map<PeerId, TimerId> greeting_;
};

}  // namespace motley
