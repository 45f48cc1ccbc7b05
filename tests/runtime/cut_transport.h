// SPDX-License-Identifier: Apache-2.0
// A transport over a real one, whose connections a test can break.
#pragma once

#include <memory>
#include <set>
#include <utility>

#include "tests/runtime/forwarding_transport.h"

namespace motley {

class CutTransport final : public ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;

  // Ends all connections. Both ends are notified.
  void CutAll() {
    for (const PeerId peer : std::exchange(peers_, {})) {
      ForwardingTransport::Disconnect(peer);
      if (receiver() == nullptr) continue;
      receiver()->OnLost(peer, Status::Unavailable("the cable was cut"));
    }
  }

  void Disconnect(PeerId peer) override {
    peers_.erase(peer);
    ForwardingTransport::Disconnect(peer);
  }

 private:
  void OnConnected(PeerId peer, const PeerIdentity& identity) override {
    peers_.insert(peer);
    ForwardingTransport::OnConnected(peer, identity);
  }
  void OnLost(PeerId peer, const Status& why) override {
    peers_.erase(peer);
    ForwardingTransport::OnLost(peer, why);
  }

  std::set<PeerId> peers_;
};

}  // namespace motley
