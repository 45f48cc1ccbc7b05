// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/shard_placement.h"

#include <algorithm>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace motley {

std::set<WorkerId> ShardPlacement::Shard::nodes() const {
  std::set<WorkerId> nodes = followers;
  nodes.insert(owner);
  return nodes;
}

bool ShardPlacement::Shard::HeldOnlyBy(const std::set<WorkerId>& nodes) const {
  return nodes.contains(owner) &&
         std::includes(nodes.begin(), nodes.end(), followers.begin(), followers.end());
}

std::set<WorkerId> ShardPlacement::nodes() const {
  std::set<WorkerId> nodes;
  for (const Shard& shard : shards_) {
    nodes.insert(shard.owner);
    nodes.insert(shard.followers.begin(), shard.followers.end());
  }
  return nodes;
}

bool ShardPlacement::reachable() const {
  return std::all_of(shards_.begin(), shards_.end(),
                     [this](const Shard& shard) { return find_(shard.owner).has_value(); });
}

size_t ShardPlacement::count() const {
  const size_t last = route().shards() - 1;
  return route().begin(last) + route().parameters(last);
}

// --- Who gets what ---

// A node that could follow the shard: the next one behind its owner that follows the fewest for
// those that it owns. Those of the same owner count twice, so that the shards of a node that is
// lost are spread. Shares of the vector follow links, and an update waits for followers. So a node
// that owns little for its slow link follows little, and one without a shard follows only if it
// must.
std::optional<WorkerId> ShardPlacement::Candidate(const Shard& shard, uint64_t version) const {
  if (shard.followers.size() >= setup_.followers) return std::nullopt;
  std::map<WorkerId, double> owned, followed;
  for (const Shard& each : shards_) {
    ++owned[each.owner];
    for (const WorkerId follower : each.followers) {
      followed[follower] += each.owner == shard.owner ? 2 : 1;
    }
  }
  const auto rank = [&](WorkerId worker) {
    const bool owns = owned[worker] > 0;
    return std::tuple(setup_.servers_follow && worker < setup_.workers, !owns,
                      owns ? followed[worker] / owned[worker] : followed[worker]);
  };
  std::optional<WorkerId> best;
  const auto consider = [&](WorkerId worker, const std::string& address) {
    const auto shunned = shunned_.find(worker);
    if (shunned != shunned_.end() && version < shunned->second) return;
    const bool can = !address.empty() && worker != shard.owner && !shard.followers.contains(worker);
    if (!can || (reads_ && worker >= setup_.workers)) return;
    if (!best || rank(worker) < rank(*best)) best = worker;
  };
  const auto behind = members_.upper_bound(shard.owner);
  for (auto at = behind; at != members_.end(); ++at) consider(at->first, at->second);
  for (auto at = members_.begin(); at != behind; ++at) consider(at->first, at->second);
  return best;
}

void ShardPlacement::Place(const std::vector<WorkerId>& owners,
                           std::map<WorkerId, std::string> members, const ShardState& state) {
  MOTLEY_ASSERT(owners.size() == route().shards() && shards_.empty());
  members_ = std::move(members);
  reads_ = setup_.hold.reads && members_.lower_bound(setup_.workers) == members_.end();
  for (const WorkerId owner : owners) shards_.push_back({.owner = owner});
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    Shard& shard = shards_[number];
    while (const auto next = Candidate(shard, state.version)) shard.followers.insert(*next);
    SendHold(number, shard.owner, &state);
    for (const WorkerId follower : shard.followers) SendHold(number, follower, &state);
  }
}

bool ShardPlacement::CanAddFollowers(uint64_t version) const {
  return std::any_of(shards_.begin(), shards_.end(), [this, version](const Shard& shard) {
    return Candidate(shard, version).has_value();
  });
}

void ShardPlacement::AddFollowers(const ShardState& state) {
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    while (const auto next = Candidate(shards_[number], state.version)) {
      shards_[number].followers.insert(*next);
      SendHold(number, *next, &state);
      SendHold(number, shards_[number].owner, nullptr);
    }
  }
}

// --- Messages ---

wire::ShardHoldT ShardPlacement::HoldFor(uint32_t number, WorkerId node) const {
  const Shard& shard = shards_[number];
  wire::ShardHoldT hold = setup_.hold;
  hold.shard = number;
  hold.epoch = shard.epoch;
  hold.owner = node == shard.owner;
  if (hold.owner) hold.followers.assign(shard.followers.begin(), shard.followers.end());
  hold.known = true;
  hold.reads = reads_;
  hold.rollbacks = rollback_.count;
  hold.version = rollback_.version;
  return hold;
}

// Gives the shard to a node that does not have it yet, or (without a state) makes a follower the
// owner.
void ShardPlacement::SendHold(uint32_t number, WorkerId node, const ShardState* state) {
  wire::ShardHoldT hold = HoldFor(number, node);
  hold.known = state == nullptr;
  if (state != nullptr) {
    hold.version = state->version;
    hold.optimizer_steps = state->optimizer_steps;
    hold.state_floats = state->array_count() * route().parameters(number);
  }
  pending_.emplace(number, node);
  Tell(node, hold);
  if (state != nullptr) SendState(number, node, *state);
}

// Tells a node what it holds, with the followers of today. Its answer shows that it is there.
void ShardPlacement::SendAgain(uint32_t number, WorkerId node) {
  repeated_.emplace(number, node);
  Tell(node, HoldFor(number, node));
}

void ShardPlacement::SendState(uint32_t number, WorkerId worker, const ShardState& state) const {
  const auto node = find_(worker);
  if (!node) return;
  const size_t begin = route().begin(number);
  const size_t size = route().parameters(number);
  Header header = node->header;
  header.kind = FrameKind::kShardState;
  header.shard = number;
  header.version = state.version;
  header.total = (1 + state.array_count()) * size;
  const auto send = [&](const std::shared_ptr<const std::vector<float>>& from, size_t at) {
    SendFloats(transport_, node->peer, header, std::span(*from).subspan(at, size), from,
               setup_.slice_length);
    header.offset += size;
  };
  send(state.parameters, begin);
  for (size_t array = 0; array < state.array_count(); ++array) {
    send(state.arrays, array * state.parameters->size() + begin);
  }
}

Result<bool> ShardPlacement::OnHeld(WorkerId worker, const wire::ShardHeldT& held) {
  if (held.shard >= shards_.size()) {
    return Status::DataError("it holds a shard that does not exist");
  }
  const Hold hold(held.shard, worker);
  repeated_.erase(hold);  // The node is there, even if it has not gone back yet.
  if (held.rollbacks != rollback_.count) return false;
  bool confirms = rolling_.erase(hold) > 0;
  // A new owner must know that it is one. Followers are what they were under any owner.
  const Shard& shard = shards_[held.shard];
  const bool as_meant = held.epoch == shard.epoch || worker != shard.owner;
  if (as_meant && pending_.erase(hold) > 0) confirms = true;
  return confirms;
}

void ShardPlacement::Announce() const {
  for (const auto& [worker, address] : members_) Introduce(worker);
}

void ShardPlacement::Joined(WorkerId worker, const std::string& address) {
  members_[worker] = address;
  Introduce(worker);
}

void ShardPlacement::Introduce(WorkerId worker) const {
  wire::ShardsT shards;
  shards.rollbacks = rollback_.count;
  for (const Shard& shard : shards_) shards.owners.push_back(shard.owner);
  for (const WorkerId node : nodes()) {
    const auto member = members_.find(node);
    if (member == members_.end()) continue;  // It is lost, and so is its shard.
    if (shards.addresses.size() <= node) shards.addresses.resize(node + 1);
    shards.addresses[node] = member->second;
  }
  Tell(worker, shards);
}

// --- Losses ---

void ShardPlacement::Left(WorkerId worker, Incarnation incarnation) {
  members_.erase(worker);
  wire::ShardGoneT gone;
  gone.worker = worker;
  gone.incarnation = incarnation;
  TellAll(gone);
}

ShardPlacement::Loss ShardPlacement::Lose(WorkerId worker) {
  const auto of_worker = [worker](const Hold& hold) { return hold.second == worker; };
  std::erase_if(pending_, of_worker);
  std::erase_if(repeated_, of_worker);
  std::erase_if(rolling_, of_worker);
  Loss loss;
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    Shard& shard = shards_[number];
    if (shard.followers.erase(worker) > 0) {
      loss.any = true;
      SendAgain(number, shard.owner);  // The owner must send it nothing.
    }
    if (shard.owner != worker) continue;
    loss.any = true;
    const std::optional<WorkerId> heir = HeirOf(number);
    if (!heir) {
      loss.gone = number;
      if (!shard.followers.empty()) loss.coming = *shard.followers.begin();
      continue;
    }
    loss.moved[number] = shard.owner = *heir;
    shard.followers.erase(*heir);
    ++shard.epoch;
    SendHold(number, *heir, nullptr);
  }
  return loss;
}

void ShardPlacement::RollBack(uint64_t version) {
  rollback_ = {rollback_.count + 1, version};
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    for (const WorkerId node : shards_[number].nodes()) {
      rolling_.emplace(number, node);
      Tell(node, HoldFor(number, node));
    }
  }
}

std::set<WorkerId> ShardPlacement::RollingBack() const {
  std::set<WorkerId> nodes;
  for (const auto& [number, node] : rolling_) nodes.insert(node);
  return nodes;
}

bool ShardPlacement::CanLose(WorkerId worker) const {
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    if (shards_[number].owner != worker) continue;
    const std::optional<WorkerId> heir = HeirOf(number);
    if (!heir || repeated_.contains({number, *heir})) return false;
  }
  return true;
}

// The follower that can own the shard now, if possible one that answers. One that still gets the
// state cannot.
std::optional<WorkerId> ShardPlacement::HeirOf(uint32_t number) const {
  std::optional<WorkerId> heir;
  for (const WorkerId follower : shards_[number].followers) {
    const Hold hold(number, follower);
    if (pending_.contains(hold)) continue;
    if (!repeated_.contains(hold)) return follower;
    if (!heir) heir = follower;
  }
  return heir;
}

void ShardPlacement::Ask(const std::set<WorkerId>& nodes) {
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    for (const WorkerId node : shards_[number].nodes()) {
      if (nodes.contains(node)) SendAgain(number, node);
    }
  }
}

bool ShardPlacement::Silent(WorkerId node) const {
  return std::any_of(repeated_.begin(), repeated_.end(),
                     [node](const Hold& hold) { return hold.second == node; });
}

}  // namespace motley
