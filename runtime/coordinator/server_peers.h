// SPDX-License-Identifier: Apache-2.0
// The connected peers: greets new connections, checks tokens, gives workers their seats, keeps
// banned nodes out and sends peers away with a reason. Loop thread only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "runtime/alive.h"
#include "runtime/coordinator/seats.h"
#include "runtime/coordinator/server_context.h"
#include "runtime/links/heartbeat.h"

namespace motley {

class ServerPeers {
 public:
  // Notifications to the job.
  struct Hooks {
    std::function<wire::AcceptT(WorkerId)> welcome;
    std::function<void(WorkerId)> joined;
    // Runs once for each joined incarnation.
    std::function<void(WorkerId, const Status&)> lost;
  };

  ServerPeers(ServerContext& server, Hooks hooks);
  ~ServerPeers();

  void OnConnected(PeerId peer, const PeerIdentity& identity);
  void OnLost(PeerId peer, const Status& why);
  // Cuts the connection.
  void Disconnect(PeerId peer, const Status& why);
  // Handles a Join. An answer goes out in every case.
  void Join(PeerId peer, const wire::JoinT& join);

  // The worker is ready for work.
  void GotReady(WorkerId worker);

  // Accepts a peer that will measure its link. False when the peer was sent away instead.
  bool Probe(PeerId peer, const wire::ProbeJoinT& join);

  // The worker at the other end. There is none before its Join is accepted or after it is sent
  // away.
  std::optional<WorkerId> WorkerOf(PeerId peer) const;
  bool Greeting(PeerId peer) const;  // The peer is connected, and its Join is awaited.

  bool Probing(PeerId peer) const;

  const Seats& seats() const { return seats_; }
  // The address that the worker joined from, and its device, as users see it.
  notice::Joined OriginOf(WorkerId worker) const;
  // The header of a message to this worker.
  Header HeaderTo(WorkerId worker, FrameKind kind) const;

  // Sends the reason (or goodbye, if it is Ok), and closes once that has left or timed out. The
  // peer's worker is lost at once.
  void SendAway(PeerId peer, const Status& why);
  // Sends the worker away for the rest of the job, and refuses joins from its node from now on.
  void Ban(WorkerId worker, const Status& why);
  // Stops listening, and sends all peers away with the outcome of the job. `gone` runs once, when
  // no peer is left. It runs after a fixed time at the latest, however many strangers still
  // connect.
  void SendAllAway(const std::string& farewell, std::function<void()> gone);

 private:
  enum class State { kGreeting, kJoined, kProbing, kLeaving };
  struct Peer {
    State state = State::kGreeting;
    WorkerId worker = 0;
    // The timeout for the Join, for the worker to get ready, for probes, or for the goodbye to
    // leave.
    TimerId timer = 0;
    std::string host;  // The machine that it connected from. Only kept until it joins.
  };

  const Peer* Find(PeerId peer) const;  // Null if not connected.
  Status Check(const wire::JoinT& join, const WorkerOrigin& origin) const;
  // Sends away a peer that wanted to join, and notifies the user.
  void Refuse(PeerId peer, const std::string& name, const Status& why);
  void TellRefused(const std::string& name, const std::string& host, const Status& why);
  void MakeFree(WorkerId worker, const wire::JoinT& join);
  void OnSilent(PeerId peer);
  void OnOverdue(WorkerId worker);
  void DoNotWait(WorkerId worker);
  void MakeRoom();
  void Dismiss(PeerId peer, const Status& why, const std::string& farewell);
  void CloseAfter(PeerId peer, Duration limit);
  void Remove(PeerId peer);
  void AllGone();

  ServerContext& server_;
  Hooks hooks_;
  std::map<PeerId, Peer> peers_;
  // The peer found last, because the beginning and end of a message look up one peer several times.
  mutable std::pair<PeerId, const Peer*> last_;
  Seats seats_;
  std::optional<Time> told_refused_;  // When the last notice of a refused peer was given.
  uint64_t refused_untold_ = 0;       // Peers refused since.
  std::function<void()> gone_;
  TimerId goodbye_timer_ = 0;  // The timeout of all goodbyes.
  bool closing_ = false;
  Heartbeat heartbeat_;
  Alive alive_;
};

}  // namespace motley
