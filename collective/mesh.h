// SPDX-License-Identifier: Apache-2.0
// Connects the members of a group with each other, for programs that have nothing else to say to
// them. Each listens at its own address and connects to those before it in the list, again and
// again until they are there. Members are not authenticated. Loop thread only.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/function.h"
#include "base/loop/loop.h"
#include "collective/collective.h"
#include "collective/members.h"
#include "transport/transport.h"

namespace motley {

struct MeshOptions {
  Rank rank = 0;
  std::vector<std::string> addresses;  // By rank; every member has the same list.
  Incarnation incarnation = 0;         // The group's.
  uint32_t pings = 0;                  // With which the members with lower ranks are measured.
  Duration limit = std::chrono::seconds(30);  // Until all are connected.
};

// Loop and transport outlive the mesh, and the transport is closed before it is destroyed.
class Mesh final : public Receiver {
 public:
  // Called once, when all members are connected, or with the reason why they are not. The others
  // may have begun: the callback calls Use.
  using Ready = Function<void(Result<Members>)>;

  Mesh(Loop& loop, Transport& transport, MeshOptions options, Ready ready);
  ~Mesh() override;

  // kUnavailable: the own address cannot be used.
  Status Start();
  // Passes on the members' messages from now on, and those that came before.
  void Use(Collective& collective);

  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  void OnLost(PeerId peer, const Status& why) override;

 private:
  struct Parked {
    PeerId peer;
    Header header;
    Bytes payload;
  };

  void ConnectTo(Rank rank);
  void OnHello(PeerId peer, const Header& header);
  void Join(Rank rank, PeerId peer);
  void SendTo(PeerId peer, MemberMessage message);
  void Ping(Rank rank);
  void OnPong(Rank rank);
  void ReadyIfDone();
  void Deliver(const Parked& message);
  void GiveUp(const Status& why);

  Loop& loop_;
  Transport& transport_;
  const MeshOptions options_;
  Ready ready_;  // Empty once it was called.
  Members members_;
  struct Pings {
    uint32_t left = 0;
    Time sent{};
  };
  std::vector<Pings> pings_;         // By rank.
  std::vector<PeerId> connecting_;   // By rank: what Connect returned.
  std::vector<Parked> parked_;       // Messages that came before Use,
  std::map<PeerId, Bytes> parking_;  // and those of which a part came before it.
  Collective* collective_ = nullptr;
  std::vector<TimerId> timers_;
};

}  // namespace motley
