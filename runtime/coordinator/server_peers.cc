// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/server_peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/coordinator/event_pump.h"
#include "runtime/coordinator/server_inbox.h"
#include "runtime/links/messages.h"
#include "runtime/links/probe_desk.h"
#include "runtime/worker_names.h"

namespace motley {
namespace {

constexpr Duration kJoinLimit = std::chrono::seconds(10);
constexpr Duration kGoodbyeLimit = std::chrono::seconds(2);
// The time for the peer to close after the goodbye has left. If the server closed over unread
// bytes, that would reset the connection and could lose the goodbye.
constexpr Duration kCloseGrace = std::chrono::milliseconds(500);
constexpr Duration kReadyLimit = std::chrono::minutes(1);
constexpr Duration kProbeLimit = std::chrono::minutes(2);  // The time limit for measuring a link.
constexpr size_t kMaxStrangers = 64;  // Connections that have not joined, or are sent away.
constexpr size_t kMaxNameBytes = 64;
constexpr Duration kTellRefusedEvery = std::chrono::seconds(10);

// Why nobody else can join.
Status Full(const Seats& seats, bool holds_only) {
  if (!holds_only) {
    return Status::Unavailable(fmt::format("the job has all of its {} workers", seats.workers()));
  }
  if (seats.servers() > 0) {
    return Status::Unavailable(
        fmt::format("the job has all of its {} shard servers", seats.servers()));
  }
  return Status::Unavailable(
      "the job keeps its vector at its server, and takes no shard servers: start it with `reduce` "
      "sharded:S");
}

}  // namespace

ServerPeers::ServerPeers(ServerContext& server, Hooks hooks)
    : server_(server),
      hooks_(std::move(hooks)),
      seats_(server.options.workers, server.options.shard_servers),
      heartbeat_(server.env.loop, server.env.transport,
                 {[this](PeerId peer) { OnSilent(peer); },
                  [this](PeerId peer, Duration silence) {
                    const std::optional<WorkerId> worker = WorkerOf(peer);
                    if (!worker) return;
                    if (Session* session = server_.SessionOf(*worker)) session->silent = false;
                    server_.Say(notice::Back{*worker, silence});
                  },
                  [this](PeerId peer) {
                    Disconnect(peer,
                               Status::Unavailable(fmt::format("it has said nothing for {:.0f} s",
                                                               ToSeconds(kLostAfter))));
                  }}) {}

ServerPeers::~ServerPeers() {
  server_.env.loop.Cancel(goodbye_timer_);
  for (const auto& [peer, state] : peers_) {
    server_.env.loop.Cancel(state.timer);
    server_.env.transport.Disconnect(peer);
  }
}

void ServerPeers::OnConnected(PeerId peer, const PeerIdentity& identity) {
  if (closing_) return server_.env.transport.Disconnect(peer);
  MakeRoom();
  Peer& state = peers_[peer];
  state.host = identity.host;
  // The user is not notified, because a worker whose Join came too late makes another attempt.
  state.timer = server_.env.loop.After(kJoinLimit, alive_.Guard([this, peer] {
    server_.env.transport.Disconnect(peer);
    Remove(peer);
  }));
}

// Drops the peer that was sent away but does not close, or else the one that has waited longest. A
// worker sends its Join at once, so such a peer is no worker and must not keep one out.
void ServerPeers::MakeRoom() {
  const auto in = [](State state) {
    return [state](const auto& entry) { return entry.second.state == state; };
  };
  const auto strangers = std::count_if(peers_.begin(), peers_.end(), in(State::kGreeting)) +
                         std::count_if(peers_.begin(), peers_.end(), in(State::kLeaving));
  if (static_cast<size_t>(strangers) < kMaxStrangers) return;
  auto oldest = std::find_if(peers_.begin(), peers_.end(), in(State::kLeaving));
  if (oldest == peers_.end()) {
    oldest = std::find_if(peers_.begin(), peers_.end(), in(State::kGreeting));
  }
  const PeerId peer = oldest->first;
  server_.env.transport.Disconnect(peer);
  Remove(peer);
}

void ServerPeers::OnLost(PeerId peer, const Status& why) {
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return;
  const Peer state = it->second;
  // The bytes are those of another release, so no Join can be read from them.
  if (state.state == State::kGreeting && why.code() == StatusCode::kConflict) {
    TellRefused("", "", why);
  }
  Remove(peer);
  if (state.state == State::kJoined) {
    seats_.Leave(state.worker);
    hooks_.lost(state.worker, why);
  }
}

void ServerPeers::Disconnect(PeerId peer, const Status& why) {
  server_.env.transport.Disconnect(peer);
  OnLost(peer, why);
}

bool ServerPeers::Probe(PeerId peer, const wire::ProbeJoinT& join) {
  MOTLEY_ASSERT(Greeting(peer));
  if (Status fine = ProbeDesk::Check(join, server_.options.token); !fine.ok()) {
    Refuse(peer, "a link measurement", fine);
    return false;
  }
  Peer& state = peers_[peer];
  server_.env.loop.Cancel(state.timer);
  state = Peer{State::kProbing, 0, 0};
  state.timer = server_.env.loop.After(kProbeLimit, alive_.Guard([this, peer] {
    SendAway(peer, Status::Unavailable("the link was measured for long enough"));
  }));
  return true;
}

Status ServerPeers::Check(const wire::JoinT& join, const WorkerOrigin& origin) const {
  if (join.protocol != kProtocolVersion) {
    return Status::Conflict(fmt::format(
        "the server speaks protocol version {}, the worker {}: install the same release on both",
        kProtocolVersion, join.protocol));
  }
  if (!SameToken(join.token, server_.options.token)) {
    return Status::Permission("the token is not this job's: start the worker with the server's");
  }
  return seats_.Check(join, origin);
}

// The connection is cut without a goodbye. A worker that wakes up then joins again.
void ServerPeers::MakeFree(WorkerId worker, const wire::JoinT& join) {
  const Seats::Seat& seat = seats_[worker];
  if (seat.peer == 0) return;
  const bool returns = join.node != 0 && seat.process == join.node;
  Disconnect(seat.peer, Status::Unavailable(returns ? "it connected again"
                                                    : "silent, and another took its place"));
}

void ServerPeers::Join(PeerId peer, const wire::JoinT& join) {
  MOTLEY_ASSERT(Greeting(peer));
  const std::string name = CleanText(join.name, kMaxNameBytes);
  const WorkerOrigin origin{name, join.device, Find(peer)->host};
  if (Status fine = Check(join, origin); !fine.ok()) return Refuse(peer, name, fine);
  const std::optional<WorkerId> worker =
      seats_.Find(join, [this](PeerId seated) { return heartbeat_.Silent(seated); });
  if (!worker) return Refuse(peer, name, Full(seats_, join.holds_only));
  MakeFree(*worker, join);
  Peer& state = peers_[peer];
  server_.env.loop.Cancel(state.timer);
  state = Peer{State::kJoined, *worker, 0};
  state.timer = server_.env.loop.After(
      kReadyLimit, alive_.Guard([this, seated = *worker] { OnOverdue(seated); }));
  const std::string known_as = join.holds_only
                                   ? ShardServerName(*worker - server_.options.workers, name)
                                   : NumberedName(name, *worker);
  seats_[*worker] = {peer, join.incarnation, known_as, origin, join.node};
  if (join.beats) heartbeat_.Watch(peer, HeaderTo(*worker, FrameKind::kControl));
  SendControl(server_.env.transport, peer, HeaderTo(*worker, FrameKind::kControl),
              hooks_.welcome(*worker));
  hooks_.joined(*worker);
}

void ServerPeers::GotReady(WorkerId worker) {
  Seats::Seat& seat = seats_[worker];
  seat.ready = true;
  seat.overdue = false;
  server_.env.loop.Cancel(std::exchange(peers_.at(seat.peer).timer, 0));
}

void ServerPeers::OnOverdue(WorkerId worker) {
  Seats::Seat& seat = seats_[worker];
  peers_.at(seat.peer).timer = 0;
  seat.overdue = true;
  server_.Say(notice::NotReady{worker, kReadyLimit});
  DoNotWait(worker);
}

void ServerPeers::OnSilent(PeerId peer) {
  const std::optional<WorkerId> worker = WorkerOf(peer);
  if (!worker) return;
  if (Session* session = server_.SessionOf(*worker)) session->silent = true;
  server_.Say(notice::Quiet{*worker, kSilentAfter});
  if (!seats_[*worker].ready) DoNotWait(*worker);
}

// The job starts without the worker, unless it has started. The worker may still get ready.
void ServerPeers::DoNotWait(WorkerId worker) {
  if (!server_.record.began() && server_.Computes(worker))
    server_.pump.Raise(WorkerNotComing{worker});
}

notice::Joined ServerPeers::OriginOf(WorkerId worker) const {
  const WorkerOrigin& origin = seats_[worker].origin;
  return {worker, origin.host, CleanText(origin.device, kMaxNameBytes)};
}

const ServerPeers::Peer* ServerPeers::Find(PeerId peer) const {
  if (last_.second != nullptr && last_.first == peer) return last_.second;
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return nullptr;
  last_ = {peer, &it->second};
  return last_.second;
}

std::optional<WorkerId> ServerPeers::WorkerOf(PeerId peer) const {
  const Peer* found = Find(peer);
  if (found == nullptr || found->state != State::kJoined) return std::nullopt;
  return found->worker;
}

bool ServerPeers::Probing(PeerId peer) const {
  const Peer* found = Find(peer);
  return found != nullptr && found->state == State::kProbing;
}

bool ServerPeers::Greeting(PeerId peer) const {
  const Peer* found = Find(peer);
  return found != nullptr && found->state == State::kGreeting;
}

Header ServerPeers::HeaderTo(WorkerId worker, FrameKind kind) const {
  Header header;
  header.kind = kind;
  header.job = server_.options.job_id;
  header.incarnation = seats_[worker].incarnation;
  return header;
}

void ServerPeers::SendAway(PeerId peer, const Status& why) { Dismiss(peer, why, ""); }

void ServerPeers::Dismiss(PeerId peer, const Status& why, const std::string& farewell) {
  const auto it = peers_.find(peer);
  if (it == peers_.end() || it->second.state == State::kLeaving) return;
  const Peer state = std::exchange(it->second, Peer{State::kLeaving, 0, 0});
  server_.env.loop.Cancel(state.timer);
  heartbeat_.Forget(peer);
  Header header;
  header.job = server_.options.job_id;
  wire::LeaveT leave;
  leave.farewell = farewell;
  if (!why.ok()) {
    leave.reason = why.ToString();
    SendControl(server_.env.transport, peer, header, ErrorMessage(why, 0));
  }
  CloseAfter(peer, kGoodbyeLimit);
  SendControl(
      server_.env.transport, peer, header, std::move(leave), Priority::kControl,
      alive_.Guard([this, peer](const Status&) {
        server_.env.loop.Post(alive_.Guard([this, peer] { CloseAfter(peer, kCloseGrace); }));
      }));
  if (state.state != State::kJoined) return;
  seats_.Leave(state.worker);
  hooks_.lost(state.worker, why);
}

void ServerPeers::Refuse(PeerId peer, const std::string& name, const Status& why) {
  TellRefused(name, Find(peer)->host, why);
  SendAway(peer, why);
}

// A peer that makes many attempts must not fill the log.
void ServerPeers::TellRefused(const std::string& name, const std::string& host, const Status& why) {
  const Time now = server_.Now();
  if (told_refused_ && now - *told_refused_ < kTellRefusedEvery) {
    ++refused_untold_;
    return;
  }
  told_refused_ = now;
  server_.Say(notice::JoinRefused{name, host, why, std::exchange(refused_untold_, 0)});
}

void ServerPeers::Ban(WorkerId worker, const Status& why) {
  const Seats::Seat& seat = seats_[worker];
  if (seat.peer == 0) return;
  seats_.Ban(worker);
  SendAway(seat.peer, why);
}

void ServerPeers::SendAllAway(const std::string& farewell, std::function<void()> gone) {
  closing_ = true;
  gone_ = std::move(gone);
  server_.env.transport.StopListening();
  goodbye_timer_ = server_.env.loop.After(kGoodbyeLimit + kCloseGrace, alive_.Guard([this] {
    goodbye_timer_ = 0;
    while (!peers_.empty()) {
      const PeerId peer = peers_.begin()->first;
      server_.env.transport.Disconnect(peer);
      Remove(peer);
    }
  }));
  std::vector<PeerId> all;
  for (const auto& [peer, state] : peers_) all.push_back(peer);
  for (const PeerId peer : all) Dismiss(peer, Status::Ok(), farewell);
  server_.env.loop.Post(alive_.Guard([this] {
    if (peers_.empty()) AllGone();
  }));
}

void ServerPeers::CloseAfter(PeerId peer, Duration limit) {
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return;
  it->second.state = State::kLeaving;
  server_.env.loop.Cancel(it->second.timer);
  it->second.timer = server_.env.loop.After(limit, alive_.Guard([this, peer] {
    if (peers_.count(peer) == 0) return;
    server_.env.transport.Disconnect(peer);
    Remove(peer);
  }));
}

void ServerPeers::Remove(PeerId peer) {
  const auto it = peers_.find(peer);
  server_.env.loop.Cancel(it->second.timer);
  heartbeat_.Forget(peer);
  last_ = {};
  peers_.erase(it);
  server_.inbox.Closed(peer);
  if (closing_ && peers_.empty()) AllGone();
}

void ServerPeers::AllGone() {
  server_.env.loop.Cancel(std::exchange(goodbye_timer_, 0));
  if (gone_) std::exchange(gone_, nullptr)();
}

}  // namespace motley
