// SPDX-License-Identifier: Apache-2.0
// Who is connected: greets new connections, checks tokens, gives out worker ids and sends peers
// away politely. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/loop.h"
#include "runtime/alive.h"
#include "transport/control.h"
#include "transport/transport.h"

namespace motley {

class ServerPeers {
 public:
  // What the job does about it.
  struct Hooks {
    std::function<wire::AcceptT(WorkerId)> welcome;
    std::function<void(WorkerId)> joined;
    // Runs once per joined life.
    std::function<void(WorkerId, const Status&)> lost;
    // The connection is gone: nothing is written to its buffers any more.
    std::function<void(PeerId)> closed;
  };

  ServerPeers(Loop& loop, Transport& transport, uint32_t workers, std::string token, uint32_t job,
              Hooks hooks);
  ~ServerPeers();

  void OnConnected(PeerId peer);
  void OnLost(PeerId peer, const Status& why);
  // Cuts the connection.
  void Disconnect(PeerId peer, const Status& why);
  // A Join; an answer goes out in every case.
  void Join(PeerId peer, const wire::JoinT& join);

  // One that will measure its link; false when it was sent away instead.
  bool Probe(PeerId peer, const wire::ProbeJoinT& join);

  // The worker at the other end; none before its Join is accepted and once it is sent away.
  std::optional<WorkerId> WorkerOf(PeerId peer) const;
  bool Greeting(PeerId peer) const;  // Connected, and its Join is awaited.

  bool Probing(PeerId peer) const;

  bool Connected(WorkerId worker) const { return seats_[worker].peer != 0; }
  PeerId PeerOf(WorkerId worker) const { return seats_[worker].peer; }
  Incarnation IncarnationOf(WorkerId worker) const { return seats_[worker].incarnation; }
  const std::string& NameOf(WorkerId worker) const { return seats_[worker].name; }
  // For a message to this worker.
  Header HeaderTo(WorkerId worker, FrameKind kind) const;

  // Says why (fine: goodbye), and closes once that is through or a limit of time has passed. The
  // peer's worker is lost at once.
  void SendAway(PeerId peer, const Status& why);
  // The same for all, including those to come; `gone` runs once when nobody is left. Those that are
  // here are told what became of the job.
  void SendAllAway(const std::string& farewell, std::function<void()> gone);

 private:
  enum class State { kGreeting, kJoined, kProbing, kLeaving };
  struct Peer {
    State state = State::kGreeting;
    WorkerId worker = 0;
    TimerId timer = 0;  // For the Join to come, probes to end, or the goodbye to be through.
  };
  struct Seat {
    PeerId peer = 0;  // 0: nobody.
    Incarnation incarnation = 0;
    std::string name;
  };

  const Peer* Find(PeerId peer) const;  // Null: not connected.
  Status CheckJoin(const wire::JoinT& join) const;
  std::optional<WorkerId> FreeSeat(int32_t hint) const;
  void MakeRoom();
  void Dismiss(PeerId peer, const Status& why, const std::string& farewell);
  void CloseAfter(PeerId peer, Duration limit);
  void Remove(PeerId peer);

  Loop& loop_;
  Transport& transport_;
  std::string token_;
  uint32_t job_;
  Hooks hooks_;
  std::map<PeerId, Peer> peers_;
  // Found last: a message's beginning and end ask several times for one peer.
  mutable std::pair<PeerId, const Peer*> last_;
  std::vector<Seat> seats_;
  std::function<void()> gone_;
  bool closing_ = false;
  Alive alive_;
};

}  // namespace motley
