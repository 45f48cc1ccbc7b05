// SPDX-License-Identifier: Apache-2.0
// Who is connected: greets new connections, checks tokens, gives out worker ids, keeps banned nodes
// out and sends peers away politely. Loop thread only.
//
// A worker has a seat, whose number is its id. Who returns after its connection was lost takes its
// own seat again, also when the server has not noticed the loss yet. When all seats are taken, a
// newcomer takes that of a worker that is silent (heartbeat.h), or that joined a minute ago and has
// not got ready for work: the token is the proof that it may.
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
  // What the job does about it.
  struct Hooks {
    std::function<wire::AcceptT(WorkerId)> welcome;
    std::function<void(WorkerId)> joined;
    // Runs once per joined life.
    std::function<void(WorkerId, const Status&)> lost;
    // The connection is gone: nothing is written to its buffers any more.
    std::function<void(PeerId)> closed;
    // It joined, and is not ready for work within a time: nobody should wait for it. It may still
    // get ready.
    std::function<void(WorkerId)> overdue;
    std::function<void(const JobNotice&)> notice;
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

  // The worker is ready for work.
  void GotReady(WorkerId worker);

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
  // From where it joined, and what it computes with.
  notice::Joined OriginOf(WorkerId worker) const;
  // For a message to this worker.
  Header HeaderTo(WorkerId worker, FrameKind kind) const;

  // Says why (fine: goodbye), and closes once that is through or a limit of time has passed. The
  // peer's worker is lost at once.
  void SendAway(PeerId peer, const Status& why);
  // SendAway for the rest of the job: whoever joins from the worker's node is refused from now on.
  // A node is what the token lets in under one name, with one device, from one host address. So a
  // worker that its supervisor restarts stays out; a worker that somebody started under another
  // name is let in, and workers of one machine need names of their own to be told apart.
  void Ban(WorkerId worker, const Status& why);
  // Stops listening and sends everybody away, and says what became of the job. `gone` runs
  // once, when nobody is left: after a fixed time at the latest, however many strangers still come.
  void SendAllAway(const std::string& farewell, std::function<void()> gone);

 private:
  enum class State { kGreeting, kJoined, kProbing, kLeaving };
  struct Peer {
    State state = State::kGreeting;
    WorkerId worker = 0;
    // For the Join to come, the worker to get ready, probes to end, or the goodbye to be through.
    TimerId timer = 0;
  };
  using Node = std::tuple<std::string, std::string, std::string>;  // Name, device, host.
  struct Seat {
    PeerId peer = 0;  // 0: nobody.
    Incarnation incarnation = 0;
    std::string name;
    Node node;
    uint64_t process = 0;  // wire.Join.node
    bool ready = false;
    bool overdue = false;  // For being ready.
  };

  const Peer* Find(PeerId peer) const;  // Null: not connected.
  Status CheckJoin(const wire::JoinT& join, const Node& node) const;
  // SendAway of a peer that wanted to join, with a notice.
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
  // Found last: a message's beginning and end ask several times for one peer.
  mutable std::pair<PeerId, const Peer*> last_;
  std::vector<Seat> seats_;
  std::set<Node> banned_;
  std::optional<Time> told_refused_;  // When the last notice of a refused peer was given.
  uint64_t refused_untold_ = 0;       // Peers refused since.
  std::function<void()> gone_;
  TimerId goodbye_timer_ = 0;  // For all, once it is over.
  bool closing_ = false;
  Heartbeat heartbeat_;
  Alive alive_;
};

}  // namespace motley
