// SPDX-License-Identifier: Apache-2.0
// A stranger that connects to the server again and again without being a worker. It sends nothing,
// guesses a token or sends garbage, and keeps each connection until the server closes it.
#pragma once

#include <memory>

#include "base/random.h"
#include "sim/world/node_loop.h"
#include "sim/world/sim_network.h"

namespace motley {

class Stranger final : private Receiver {
 public:
  static constexpr const char* kState = "stranger came";  // What a campaign must reach.

  // `world` and `network` must outlive the stranger.
  Stranger(VirtualLoop& world, SimNetwork& network, Random random);
  ~Stranger() override { Stop(); }

  // Connects every `every_seconds` until Stop.
  void Start(double every_seconds);
  void Stop();
  uint64_t visits() const { return visits_; }

 private:
  void Knock(Duration every);
  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
  std::span<std::byte> OnPayload(PeerId, const Header&) override { return {}; }
  void OnPayloadDone(PeerId, const Header&, bool) override {}
  void OnLost(PeerId, const Status&) override {}

  NodeLoop loop_;
  Random random_;
  std::unique_ptr<SimTransport> transport_;
  uint64_t visits_ = 0;
};

}  // namespace motley
