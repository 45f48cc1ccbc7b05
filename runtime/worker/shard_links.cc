// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/shard_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/links/messages.h"
#include "runtime/worker_names.h"
#include "transport/stream/schemes.h"

namespace motley {
namespace {

// The coordinator notices a lost owner at about the same time, and names another one.
constexpr Duration kReplacedWithin = std::chrono::seconds(5);
constexpr uint32_t kMostTestMilliseconds = 5000;  // No server wants more.
constexpr Duration kConnectedWithin = std::chrono::seconds(10);

}  // namespace

ShardLinks::ShardLinks(Parts parts, Hooks hooks)
    : parts_(std::move(parts)), hooks_(std::move(hooks)), load_(parts_.loop, parts_.transport) {}

ShardLinks::~ShardLinks() {
  while (!links_.empty()) Drop(links_.begin()->first);
}

PeerId ShardLinks::Link(WorkerId worker) const {
  for (const auto& [peer, link] : links_) {
    if (link.worker == worker) return peer;
  }
  return 0;
}

void ShardLinks::Drop(PeerId peer) {
  const auto found = links_.find(peer);
  if (found->second.timer != 0) parts_.loop.Cancel(found->second.timer);
  links_.erase(found);
  parts_.transport.Disconnect(peer);
}

Status ShardLinks::SetShards(const wire::ShardsT& shards) {
  if (!shards.owners.empty() && shards.owners.size() != parts_.shards) {
    return Status::DataError(fmt::format("owners of {} shards, of which there are {}",
                                         shards.owners.size(), parts_.shards));
  }
  for (const WorkerId owner : shards.owners) {
    if (owner >= shards.addresses.size() || shards.addresses[owner].empty()) {
      return Status::DataError(fmt::format("worker {} owns a shard and has no address", owner));
    }
  }
  std::vector<PeerId> surplus;
  for (const auto& [peer, link] : links_) {
    const bool wanted = link.worker < shards.addresses.size() &&
                        ReachableAt(shards.addresses[link.worker], parts_.server) == link.address;
    if (!wanted) surplus.push_back(peer);
  }
  for (const PeerId peer : surplus) {
    if (links_.at(peer).up) Report(links_.at(peer).worker, Reach::kClosed);
    Drop(peer);
  }
  for (WorkerId worker = 0; worker < shards.addresses.size(); ++worker) {
    const std::string address = ReachableAt(shards.addresses[worker], parts_.server);
    if (!shards.addresses[worker].empty() && Link(worker) == 0) Connect(worker, address);
  }
  const std::vector<WorkerId> before = std::exchange(owners_, shards.owners);
  if (remote()) parts_.parameters.ShardsAreRemote();
  parts_.parameters.RolledBack(shards.rollbacks);
  if (!before.empty()) SayWhatIsMissing(before);
  return Status::Ok();
}

// New owners may count on what the ones before have sent.
void ShardLinks::SayWhatIsMissing(const std::vector<WorkerId>& before) {
  for (uint32_t shard = 0; shard < owners_.size(); ++shard) {
    if (owners_[shard] == before[shard]) continue;
    wire::ShardNeedT need;
    need.shard = shard;
    need.version = parts_.parameters.Needs(shard);
    SendControl(parts_.transport, PeerOf(shard), parts_.header, need);
  }
}

void ShardLinks::Test(const wire::LinkTestT& test) {
  std::vector<LinkLoad::To> to;
  for (const uint32_t node : test.nodes) {
    const PeerId peer = node == parts_.places ? parts_.coordinator : Link(node);
    if (peer != 0) to.push_back({peer, parts_.header});
  }
  const Duration time =
      std::chrono::milliseconds(std::min(test.milliseconds, kMostTestMilliseconds));
  load_.Start(test.id, time, to, [this](wire::LinkReportT report) {
    for (const auto& [peer, link] : links_) {
      if (link.up) report.connected.push_back(link.worker);
    }
    SendControl(parts_.transport, parts_.coordinator, parts_.header, report);
  });
}

void ShardLinks::Connect(WorkerId worker, const std::string& address, bool again) {
  const PeerId peer = parts_.transport.Connect(address);
  One& link = links_[peer];
  link.worker = worker;
  link.address = address;
  link.again = again;
  link.timer = parts_.loop.After(kConnectedWithin, alive_.Guard([this, peer] {
    links_[peer].timer = 0;
    OnLost(peer, Status::Unavailable(fmt::format(
                     "no connection within {} s",
                     std::chrono::duration_cast<std::chrono::seconds>(kConnectedWithin).count())));
  }));
  SendControl(parts_.transport, peer, parts_.header, parts_.join);
}

void ShardLinks::OnConnected(PeerId peer, const PeerIdentity&) {
  One& link = links_[peer];
  link.up = true;
  link.again = false;
  if (link.timer != 0) parts_.loop.Cancel(std::exchange(link.timer, 0));
  Report(link.worker, Reach::kHas);
}

void ShardLinks::Report(WorkerId node, Reach reach) {
  wire::ShardReachedT reached;
  reached.node = node;
  reached.closed = reach == Reach::kClosed;
  reached.lost = reach == Reach::kLost;
  SendControl(parts_.transport, parts_.coordinator, parts_.header, reached);
}

void ShardLinks::OnLost(PeerId peer, const Status& why) {
  One& link = links_[peer];
  if (link.lost) return;  // It has said why before.
  link.lost = true;
  const Status lost = Status::Unavailable(
      fmt::format("{} {} at {}, which holds a part of the vector: {}",
                  link.up ? "lost the connection to" : "cannot reach",
                  DescribeNode(link.worker, parts_.workers), link.address, why.ToString()));
  if (std::exchange(link.up, false)) Report(link.worker, Reach::kClosed);
  if (!remote()) return Drop(peer);  // Nothing depends on it yet.
  link.arriving.values = nullptr;
  if (link.timer != 0) parts_.loop.Cancel(link.timer);
  link.timer = parts_.loop.After(kReplacedWithin, alive_.Guard([this, peer, lost] {
    links_[peer].timer = 0;
    Replace(peer, lost);
  }));
}

// The job goes on without a node that owns nothing, if a second connection fails as well.
void ShardLinks::Replace(PeerId peer, const Status& lost) {
  const One link = links_[peer];
  if (std::count(owners_.begin(), owners_.end(), link.worker) > 0) return hooks_.failed(lost);
  Drop(peer);
  if (link.again) return Report(link.worker, Reach::kLost);
  Connect(link.worker, link.address, /*again=*/true);
}

std::span<std::byte> ShardLinks::OnPayload(PeerId peer, const Header& header) {
  One& link = links_[peer];
  if (header.kind == FrameKind::kControl) {
    link.control.resize(header.length);
    return link.control;
  }
  const bool ours = header.job == parts_.header.job &&
                    header.incarnation == parts_.header.incarnation &&
                    header.kind == FrameKind::kParameters;
  if (!ours) return {};
  const auto room = parts_.parameters.Begin(header, link.arriving);
  if (room.ok()) return *room;
  hooks_.failed(room.status().WithContext("cannot take the parameters of a shard"));
  return {};
}

void ShardLinks::OnPayloadDone(PeerId peer, const Header& header, bool discarded) {
  One& link = links_[peer];
  if (discarded || header.length == 0) return;
  if (header.kind != FrameKind::kControl) {
    const Status fine = parts_.parameters.Finish(link.arriving);
    return fine.ok() ? hooks_.advance() : hooks_.failed(fine);
  }
  const auto control = DecodeControl(link.control);
  if (!control.ok()) return hooks_.failed(control.status());
  if (const wire::LeaveT* leave = control->body.AsLeave()) {
    OnLost(peer, Status::Unavailable("it said: " + ReasonOf(*leave)));
  }
}

}  // namespace motley
