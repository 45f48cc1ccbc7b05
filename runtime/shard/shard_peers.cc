// SPDX-License-Identifier: Apache-2.0
// The connections of a ShardHost with workers.
#include <algorithm>
#include <utility>

#include "runtime/links/messages.h"
#include "runtime/shard/held_shard.h"

namespace motley {
namespace {

constexpr uint64_t kMostVersions = 6;     // Versions of a shard that slow readers may keep.
constexpr uint32_t kMaxJoinBytes = 4096;  // The longest message that is read from a stranger.

}  // namespace

void ShardHost::OnConnected(PeerId id, const PeerIdentity&) {
  peers_[id] = std::make_unique<Peer>();
}

void ShardHost::OnLost(PeerId id, const Status&) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  const std::unique_ptr<Peer> peer = std::move(found->second);
  peers_.erase(found);
}

void ShardHost::Cut(PeerId id, const Status& why) {
  wire::LeaveT leave;
  leave.reason = why.ToString();
  SendControl(parts_.transport, id, parts_.header, std::move(leave));
  if (const auto found = peers_.find(id); found != peers_.end()) found->second->cut = true;
  // The caller may be part of the connection.
  parts_.loop.Post(alive_.Guard([this, id] {
    parts_.transport.Disconnect(id);
    OnLost(id, Status::Ok());
  }));
}

std::span<std::byte> ShardHost::OnPayload(PeerId id, const Header& header) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return {};
  Peer& peer = *found->second;
  if (peer.cut) return {};
  if (header.kind == FrameKind::kControl) {
    if (!peer.joined && header.length > kMaxJoinBytes) return {};
    peer.control.resize(header.length);
    return peer.control;
  }
  if (!peer.joined || header.job != job_.id || header.incarnation != peer.incarnation) return {};
  if (header.kind == FrameKind::kLoad) return parts_.load.Room(header);
  Held* const held = Find(header.shard);
  if (held == nullptr || !held->ready) return {};  // Its owner changed; the worker will hear of it.
  if (header.kind == FrameKind::kGradient && held->owner && peer.worker < job_.workers) {
    const Result<bool> wanted = held->answers.Begin(peer.worker, header, peer.slice);
    if (!wanted.ok()) Cut(id, wanted.status());
    if (!wanted.ok() || !*wanted) return {};
    return peer.slice.Room();
  }
  if (header.kind != FrameKind::kShardSum || held->owner) return {};
  Held::Sum& sum = held->sum;
  const auto of_slice = std::pair(header.step, header.attempt);
  const size_t count = held->count;
  if (of_slice < std::pair(sum.step, sum.attempt)) return {};
  const bool fits =
      header.total == count && header.offset % job_.slice_length == 0 && header.offset < count &&
      header.length == sizeof(float) * std::min<size_t>(job_.slice_length, count - header.offset);
  if (!fits) {
    Cut(id, Status::DataError("a piece of a sum that does not fit its shard"));
    return {};
  }
  if (of_slice > std::pair(sum.step, sum.attempt)) {
    sum.step = header.step;
    sum.attempt = header.attempt;
    // The device may still work with the last sum of a slow follower's update.
    if (sum.values.use_count() > 1) sum.values = std::make_shared<AlignedVector>();
    sum.values->resize(count);
    sum.came.Start((count + job_.slice_length - 1) / job_.slice_length);
    sum.whole = false;
  }
  peer.sum = sum.values;
  return std::as_writable_bytes(std::span(*sum.values))
      .subspan(header.offset * sizeof(float), header.length);
}

void ShardHost::OnPayloadDone(PeerId id, const Header& header, bool discarded) {
  const auto found = peers_.find(id);
  if (found == peers_.end()) return;
  Peer& peer = *found->second;
  const std::shared_ptr<AlignedVector> sum = std::move(peer.sum);
  // Nobody asked for room for an empty frame, so it was not checked.
  if (discarded || header.length == 0) return;
  if (header.kind == FrameKind::kControl) return OnJoin(id, peer);
  if (header.kind == FrameKind::kLoad) return parts_.load.Arrived(peer.worker, header);
  Held* held = Find(header.shard);
  if (held == nullptr) return;
  Status fine;
  if (header.kind == FrameKind::kShardSum) {
    fine = FinishSum(*held, header);
  } else {
    fine = held->answers.Finish(peer.worker, peer.slice);
  }
  if (!fine.ok()) parts_.failed(fine);
}

void ShardHost::OnJoin(PeerId id, Peer& peer) {
  const Result<wire::ControlT> control = DecodeControl(peer.control);
  if (!control.ok()) return Cut(id, control.status());
  if (const wire::ShardNeedT* need = control->body.AsShardNeed(); need != nullptr && peer.joined) {
    Held* held = Find(need->shard);
    if (held == nullptr || !held->ready || held->version < need->version) return;
    for (const auto& [shard, reader] : peer.readers) {
      if (shard == need->shard) reader->Lacks();
    }
    return Serve(*held, peer, id);
  }
  const wire::ShardJoinT* join = control->body.AsShardJoin();
  if (join == nullptr) {
    if (control->body.AsLeave() == nullptr) {
      Cut(id, Status::DataError("a join is due before anything else"));
    }
    return;
  }
  if (peer.joined || join->job != job_.id || !SameToken(join->token, job_.token) ||
      join->worker >= job_.places) {
    return Cut(id, Status(StatusCode::kPermission, "the token or the job is another one"));
  }
  const auto gone = gone_.find(join->worker);
  if (gone != gone_.end() && gone->second == join->incarnation) {
    return Cut(id, Status::Unavailable("the worker was declared gone"));
  }
  peer.joined = true;
  peer.worker = join->worker;
  peer.incarnation = join->incarnation;
  for (const auto& [shard, held] : held_) {
    if (held->ready) Serve(*held, peer, id);
  }
}

// The first values are here.
void ShardHost::Begin(Held& held) {
  held.versions = std::make_unique<VersionPool>(held.count, kMostVersions);
  // The connection that still reads the oldest version is cut; the worker may connect again.
  held.versions->SetCrowded([this, shard = held.shard] {
    const Held* now = Find(shard);
    const auto oldest = now->publisher.OldestReader(now->version);
    if (!oldest) return false;
    // At once, because the version must be free when this returns.
    parts_.transport.Disconnect(oldest->peer);
    OnLost(oldest->peer, Status::Ok());
    return true;
  });
  held.versions->Begin(held.parameters);
  if (held.owner) held.versions->Reserve();
  Ready(held);
}

// The shard's values are here, under this role. If it was handed over, most workers have the newest
// values from the owner before, and the others say so.
void ShardHost::Ready(Held& held, bool handed_over) {
  held.ready = true;
  for (const auto& [id, peer] : peers_) {
    if (peer->joined) Serve(held, *peer, id, handed_over);
  }
  Report(held.AsHeld());
}

// Sends the newest values of an owned shard, and later ones when they come.
void ShardHost::Serve(Held& held, Peer& peer, PeerId id, bool skip_newest) {
  if (!held.owner || peer.worker >= job_.workers) return;
  const bool served = std::any_of(peer.readers.begin(), peer.readers.end(),
                                  [&](const auto& each) { return each.first == held.shard; });
  if (!served) {
    Header header = parts_.header;
    header.incarnation = peer.incarnation;
    header.attempt = held.epoch;
    header.row = held.rollbacks;
    peer.readers.emplace_back(held.shard,
                              std::make_unique<Publisher::Reader>(held.publisher, id, header));
    if (skip_newest) peer.readers.back().second->Skip(held.version);
  }
  PublishTo(peer, held);
}

void ShardHost::PublishTo(Peer& peer, Held& held) {
  if (held.in_place) return;  // The next version follows at once.
  for (const auto& [shard, reader] : peer.readers) {
    if (shard == held.shard) reader->Publish(held.version, held.parameters);
  }
}

}  // namespace motley
