// SPDX-License-Identifier: Apache-2.0
// The connected peers: greets new connections, checks tokens, assigns worker ids, keeps banned
// nodes out and sends peers away with a reason. Loop thread only.
//
// A worker has a seat, whose number is its id. A worker that lost its connection takes its own seat
// again, even if the server has not noticed the loss yet. When all seats are taken, a newcomer
// takes the seat of a worker that is silent (heartbeat.h), or that joined a minute ago and is not
// ready for work. The token proves that it may.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "runtime/alive.h"
#include "runtime/job_notice.h"
#include "runtime/links/heartbeat.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

class ServerPeers {
 public:
  // Notifications to the job.
  struct Hooks {
    std::function<wire::AcceptT(WorkerId)> welcome;
    std::function<void(WorkerId)> joined;
    // Runs once for each joined incarnation.
    std::function<void(WorkerId, const Status&)> lost;
    // The connection is gone. Nothing is written to its buffers any more.
    std::function<void(PeerId)> closed;
    // The worker joined, but was not ready for work in time, so nobody should wait for it. It may
    // still get ready.
    std::function<void(WorkerId)> overdue;
    std::function<void(const JobNotice&)> notice;
  };

  ServerPeers(Loop& loop, Transport& transport, uint32_t workers, std::string token, uint32_t job,
              Hooks hooks);
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

  bool Connected(WorkerId worker) const { return seats_[worker].peer != 0; }
  PeerId PeerOf(WorkerId worker) const { return seats_[worker].peer; }
  Incarnation IncarnationOf(WorkerId worker) const { return seats_[worker].incarnation; }
  const std::string& NameOf(WorkerId worker) const { return seats_[worker].name; }
  // The address that the worker joined from, and its device.
  notice::Joined OriginOf(WorkerId worker) const;
  // The header of a message to this worker.
  Header HeaderTo(WorkerId worker, FrameKind kind) const;

  // Sends the reason (or goodbye, if it is Ok), and closes once that has left or timed out. The
  // peer's worker is lost at once.
  void SendAway(PeerId peer, const Status& why);
  // Sends the worker away for the rest of the job, and refuses joins from its node from now on. A
  // node is a name, a device and a host address, taken together. A worker that its supervisor
  // restarts therefore stays out, and one that a user started under another name may join. Workers
  // on one machine need different names.
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
  using Node = std::tuple<std::string, std::string, std::string>;  // Name, device, host.
  struct Seat {
    PeerId peer = 0;  // 0: the seat is empty.
    Incarnation incarnation = 0;
    std::string name;
    Node node;
    uint64_t process = 0;  // wire.Join.node
    bool ready = false;
    bool overdue = false;  // The worker was not ready in time.
  };

  const Peer* Find(PeerId peer) const;  // Null if not connected.
  Status CheckJoin(const wire::JoinT& join, const Node& node) const;
  // Sends away a peer that wanted to join, and notifies the user.
  void Refuse(PeerId peer, const std::string& name, const Status& why);
  void TellRefused(const std::string& name, const std::string& host, const Status& why);
  std::optional<WorkerId> FreeSeat(const wire::JoinT& join) const;
  bool MayBeTaken(const Seat& seat) const;
  void MakeFree(WorkerId worker, const wire::JoinT& join);
  void OnSilent(PeerId peer);
  void OnOverdue(WorkerId worker);
  void MakeRoom();
  void Dismiss(PeerId peer, const Status& why, const std::string& farewell);
  void CloseAfter(PeerId peer, Duration limit);
  void Remove(PeerId peer);
  void AllGone();

  Loop& loop_;
  Transport& transport_;
  std::string token_;
  uint32_t job_;
  Hooks hooks_;
  std::map<PeerId, Peer> peers_;
  // The peer found last, because the beginning and end of a message look up one peer several times.
  mutable std::pair<PeerId, const Peer*> last_;
  std::vector<Seat> seats_;
  std::set<Node> banned_;
  std::optional<Time> told_refused_;  // When the last notice of a refused peer was given.
  uint64_t refused_untold_ = 0;       // Peers refused since.
  std::function<void()> gone_;
  TimerId goodbye_timer_ = 0;  // The timeout of all goodbyes.
  bool closing_ = false;
  Heartbeat heartbeat_;
  Alive alive_;
};

}  // namespace motley
