// SPDX-License-Identifier: Apache-2.0
#include "collective/mesh.h"

#include <algorithm>
#include <utility>

#include "fmt/core.h"

namespace motley {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(50);

}  // namespace

Mesh::Mesh(Loop& loop, Transport& transport, MeshOptions options, Ready ready)
    : loop_(loop),
      transport_(transport),
      options_(std::move(options)),
      ready_(std::move(ready)),
      pings_(options_.addresses.size()),
      connecting_(options_.addresses.size(), 0) {
  MOTLEY_ASSERT(options_.rank < options_.addresses.size());
  members_.rank = options_.rank;
  members_.incarnation = options_.incarnation;
  members_.peers.resize(options_.addresses.size(), 0);
  members_.round_trips.resize(options_.addresses.size(), Duration::zero());
}

Mesh::~Mesh() {
  for (const TimerId timer : timers_) loop_.Cancel(timer);
}

Status Mesh::Start() {
  transport_.SetReceiver(this);
  const std::string& own = options_.addresses[members_.rank];
  if (const auto address = transport_.Listen(own); !address.ok()) return address.status();
  for (Rank rank = 0; rank < members_.rank; ++rank) ConnectTo(rank);
  timers_.push_back(loop_.After(options_.limit, [this] {
    if (!ready_) return;
    Rank missing = 0;
    while (missing == members_.rank ||
           (members_.peers[missing] != 0 && pings_[missing].left == 0)) {
      ++missing;
    }
    GiveUp(
        Status::Unavailable(fmt::format("member {} at {} did not connect within {:.0f} s", missing,
                                        options_.addresses[missing], ToSeconds(options_.limit))));
  }));
  if (members_.count() == 1) {
    timers_.push_back(loop_.After(Duration::zero(), [this] { ReadyIfDone(); }));
  }
  return Status::Ok();
}

void Mesh::Use(Collective& collective) {
  collective_ = &collective;
  for (const Parked& message : std::exchange(parked_, {})) Deliver(message);
}

void Mesh::ConnectTo(Rank rank) {
  connecting_[rank] = transport_.Connect(options_.addresses[rank]);
}

void Mesh::OnConnected(PeerId peer, const PeerIdentity&) {
  const auto found = std::find(connecting_.begin(), connecting_.end(), peer);
  if (found == connecting_.end()) return;  // It is going to say hello.
  const auto rank = static_cast<Rank>(found - connecting_.begin());
  SendTo(peer, MemberMessage::kHello);
  pings_[rank].left = options_.pings;
  Join(rank, peer);
  if (options_.pings > 0) Ping(rank);
}

void Mesh::SendTo(PeerId peer, MemberMessage message) {
  Header header;
  header.kind = FrameKind::kCollective;
  header.incarnation = members_.incarnation;
  header.row_id = static_cast<uint32_t>(message);
  header.offset = members_.rank;
  header.total = members_.count();
  transport_.Send(peer, header, {}, Priority::kControl, [](const Status&) {});
}

void Mesh::Ping(Rank rank) {
  pings_[rank].sent = loop_.Now();
  SendTo(members_.peers[rank], MemberMessage::kPing);
}

void Mesh::OnPong(Rank rank) {
  if (pings_[rank].left == 0) return;
  const Duration taken = std::max(loop_.Now() - pings_[rank].sent, Duration(1));
  Duration& shortest = members_.round_trips[rank];
  shortest = shortest == Duration::zero() ? taken : std::min(shortest, taken);
  if (--pings_[rank].left > 0) return Ping(rank);
  ReadyIfDone();
}

void Mesh::OnHello(PeerId peer, const Header& header) {
  const bool fits = header.incarnation == members_.incarnation &&
                    header.total == members_.count() && header.offset > members_.rank &&
                    header.offset < members_.count() && members_.peers[header.offset] == 0;
  if (!fits) return transport_.Disconnect(peer);
  Join(static_cast<Rank>(header.offset), peer);
}

void Mesh::Join(Rank rank, PeerId peer) {
  members_.peers[rank] = peer;
  ReadyIfDone();
}

void Mesh::ReadyIfDone() {
  for (Rank other = 0; other < members_.count(); ++other) {
    if (other == members_.rank) continue;
    if (members_.peers[other] == 0 || pings_[other].left > 0) return;
  }
  if (ready_) std::exchange(ready_, nullptr)(members_);
}

std::span<std::byte> Mesh::OnPayload(PeerId peer, const Header& header) {
  if (header.kind != FrameKind::kCollective || !members_.RankOf(peer)) return {};
  if (collective_ != nullptr) return collective_->OnPayload(peer, header);
  return parking_[peer] = Bytes(header.length);
}

void Mesh::OnPayloadDone(PeerId peer, const Header& header, bool /*discarded*/) {
  if (header.kind != FrameKind::kCollective) return;
  const auto from = members_.RankOf(peer);
  switch (static_cast<MemberMessage>(header.row_id)) {
    case MemberMessage::kHello: return OnHello(peer, header);
    case MemberMessage::kPing: return SendTo(peer, MemberMessage::kPong);
    case MemberMessage::kPong: return from ? OnPong(*from) : void();
    default: break;
  }
  auto parking = parking_.extract(peer);
  if (parking.empty()) {
    if (collective_ != nullptr) collective_->OnPayloadDone(peer, header);
    return;
  }
  Parked message{peer, header, std::move(parking.mapped())};
  if (collective_ != nullptr) return Deliver(message);
  parked_.push_back(std::move(message));
}

void Mesh::Deliver(const Parked& message) {
  const std::span<std::byte> room = collective_->OnPayload(message.peer, message.header);
  std::copy_n(message.payload.begin(), room.size(), room.begin());
  collective_->OnPayloadDone(message.peer, message.header);
}

void Mesh::OnLost(PeerId peer, const Status& why) {
  const auto found = std::find(connecting_.begin(), connecting_.end(), peer);
  if (const auto rank = members_.RankOf(peer)) {
    if (collective_ != nullptr) return collective_->OnLost(peer, why);
    return GiveUp(
        Status::Unavailable(fmt::format("member {} was lost: {}", *rank, why.ToString())));
  }
  if (found == connecting_.end() || !ready_) return;
  const auto rank = static_cast<Rank>(found - connecting_.begin());
  timers_.push_back(loop_.After(kRetry, [this, rank] { ConnectTo(rank); }));
}

void Mesh::GiveUp(const Status& why) {
  if (ready_) std::exchange(ready_, nullptr)(why);
}

}  // namespace motley
