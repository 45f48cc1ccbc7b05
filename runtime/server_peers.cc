// SPDX-License-Identifier: Apache-2.0
#include "runtime/server_peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "runtime/messages.h"
#include "runtime/probe_desk.h"

namespace motley {
namespace {

constexpr Duration kJoinLimit = std::chrono::seconds(10);
constexpr Duration kGoodbyeLimit = std::chrono::seconds(2);
// After the goodbye has left, the peer closes first: closing over its unread bytes would reset the
// connection and could take the goodbye with it.
constexpr Duration kCloseGrace = std::chrono::milliseconds(500);
constexpr Duration kProbeLimit = std::chrono::minutes(2);  // A link is not measured for longer.
constexpr size_t kMaxGreeting = 64;                        // Connections that have not joined.
constexpr size_t kMaxNameBytes = 64;

std::string ShownName(const wire::JoinT& join, WorkerId worker) {
  std::string clean = CleanText(join.name, kMaxNameBytes);
  return clean.empty() ? fmt::format("worker-{}", worker) : clean;
}

}  // namespace

ServerPeers::ServerPeers(Loop& loop, Transport& transport, uint32_t workers, std::string token,
                         uint32_t job, Hooks hooks)
    : loop_(loop),
      transport_(transport),
      token_(std::move(token)),
      job_(job),
      hooks_(std::move(hooks)),
      seats_(workers) {}

ServerPeers::~ServerPeers() {
  for (const auto& [peer, state] : peers_) {
    loop_.Cancel(state.timer);
    transport_.Disconnect(peer);
  }
}

void ServerPeers::OnConnected(PeerId peer) {
  if (closing_) {
    peers_[peer];
    return SendAway(peer, Status::Unavailable("the job has ended"));
  }
  MakeRoom();
  peers_[peer].timer = loop_.After(kJoinLimit, alive_.Guard([this, peer] {
    SendAway(peer, Status::Unavailable(
                       fmt::format("no join within {} s", kJoinLimit.count() / 1'000'000'000)));
  }));
}

// The oldest goes: a worker says its Join at once, so it is no worker, and must not keep one out.
void ServerPeers::MakeRoom() {
  const auto greeting = [](const auto& entry) { return entry.second.state == State::kGreeting; };
  if (static_cast<size_t>(std::count_if(peers_.begin(), peers_.end(), greeting)) < kMaxGreeting) {
    return;
  }
  CloseAfter(std::find_if(peers_.begin(), peers_.end(), greeting)->first, Duration::zero());
}

void ServerPeers::OnLost(PeerId peer, const Status& why) {
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return;
  const Peer state = it->second;
  Remove(peer);
  if (state.state == State::kJoined) {
    seats_[state.worker].peer = 0;
    hooks_.lost(state.worker, why);
  }
}

void ServerPeers::Disconnect(PeerId peer, const Status& why) {
  transport_.Disconnect(peer);
  OnLost(peer, why);
}

bool ServerPeers::Probe(PeerId peer, const wire::ProbeJoinT& join) {
  MOTLEY_ASSERT(Greeting(peer));
  if (Status fine = ProbeDesk::Check(join, token_); !fine.ok()) {
    SendAway(peer, fine);
    return false;
  }
  Peer& state = peers_[peer];
  loop_.Cancel(state.timer);
  state = Peer{State::kProbing, 0, 0};
  state.timer = loop_.After(kProbeLimit, alive_.Guard([this, peer] {
    SendAway(peer, Status::Unavailable("the link was measured for long enough"));
  }));
  return true;
}

Status ServerPeers::CheckJoin(const wire::JoinT& join) const {
  if (join.protocol != kProtocolVersion) {
    return Status::Conflict(fmt::format(
        "the server speaks protocol version {}, the worker {}: install the same release on both",
        kProtocolVersion, join.protocol));
  }
  if (!SameToken(join.token, token_)) {
    return Status::Permission("the token is not this job's: start the worker with the server's");
  }
  if (join.incarnation == 0) return Status::InvalidArgument("a join without an incarnation");
  for (const Seat& seat : seats_) {
    if (seat.incarnation == join.incarnation) {
      return Status::Conflict("this incarnation was here already: start the worker again");
    }
  }
  return Status::Ok();
}

std::optional<WorkerId> ServerPeers::FreeSeat(int32_t hint) const {
  if (hint >= 0 && static_cast<size_t>(hint) < seats_.size() && seats_[hint].peer == 0) {
    return static_cast<WorkerId>(hint);
  }
  // Seats that nobody ever had come first: a lost worker may come back to its own.
  for (const bool fresh : {true, false}) {
    for (size_t i = 0; i < seats_.size(); ++i) {
      if (seats_[i].peer == 0 && (seats_[i].incarnation == 0) == fresh) {
        return static_cast<WorkerId>(i);
      }
    }
  }
  return std::nullopt;
}

void ServerPeers::Join(PeerId peer, const wire::JoinT& join) {
  MOTLEY_ASSERT(Greeting(peer));
  if (Status fine = CheckJoin(join); !fine.ok()) return SendAway(peer, fine);
  const std::optional<WorkerId> worker = FreeSeat(join.index_hint);
  if (!worker) {
    return SendAway(
        peer, Status::Unavailable(fmt::format("the job has all of its {} workers", seats_.size())));
  }
  Peer& state = peers_[peer];
  loop_.Cancel(state.timer);
  state = Peer{State::kJoined, *worker, 0};
  seats_[*worker] = Seat{peer, join.incarnation, ShownName(join, *worker)};
  SendControl(transport_, peer, HeaderTo(*worker, FrameKind::kControl), hooks_.welcome(*worker));
  hooks_.joined(*worker);
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
  header.job = job_;
  header.incarnation = seats_[worker].incarnation;
  return header;
}

void ServerPeers::SendAway(PeerId peer, const Status& why) { Dismiss(peer, why, ""); }

void ServerPeers::Dismiss(PeerId peer, const Status& why, const std::string& farewell) {
  const auto it = peers_.find(peer);
  if (it == peers_.end() || it->second.state == State::kLeaving) return;
  const Peer state = std::exchange(it->second, Peer{State::kLeaving, 0, 0});
  loop_.Cancel(state.timer);
  Header header;
  header.job = job_;
  wire::LeaveT leave;
  leave.farewell = farewell;
  if (!why.ok()) {
    leave.reason = why.message();
    SendControl(transport_, peer, header, ErrorMessage(why, 0));
  }
  CloseAfter(peer, kGoodbyeLimit);
  SendControl(transport_, peer, header, std::move(leave), Priority::kControl,
              alive_.Guard([this, peer](const Status&) {
                loop_.Post(alive_.Guard([this, peer] { CloseAfter(peer, kCloseGrace); }));
              }));
  if (state.state != State::kJoined) return;
  seats_[state.worker].peer = 0;
  hooks_.lost(state.worker, why);
}

void ServerPeers::SendAllAway(const std::string& farewell, std::function<void()> gone) {
  closing_ = true;
  gone_ = std::move(gone);
  std::vector<PeerId> all;
  for (const auto& [peer, state] : peers_) all.push_back(peer);
  for (const PeerId peer : all) Dismiss(peer, Status::Ok(), farewell);
  loop_.Post(alive_.Guard([this] {
    if (peers_.empty() && gone_) std::exchange(gone_, nullptr)();
  }));
}

void ServerPeers::CloseAfter(PeerId peer, Duration limit) {
  const auto it = peers_.find(peer);
  if (it == peers_.end()) return;
  it->second.state = State::kLeaving;
  loop_.Cancel(it->second.timer);
  it->second.timer = loop_.After(limit, alive_.Guard([this, peer] {
    if (peers_.count(peer) == 0) return;
    transport_.Disconnect(peer);
    Remove(peer);
  }));
}

void ServerPeers::Remove(PeerId peer) {
  const auto it = peers_.find(peer);
  loop_.Cancel(it->second.timer);
  last_ = {};
  peers_.erase(it);
  hooks_.closed(peer);
  if (closing_ && peers_.empty() && gone_) std::exchange(gone_, nullptr)();
}

}  // namespace motley
