// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/shard_placement.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "base/assert.h"

namespace motley {
namespace {

void SendState(Transport& transport, const LinkLoad::To& node, const Route& route, uint32_t number,
               const ShardState& state, size_t slice_length) {
  const size_t begin = route.begin(number);
  const size_t size = route.parameters(number);
  Header header = node.header;
  header.kind = FrameKind::kShardState;
  header.shard = number;
  header.version = state.version;
  header.total = (1 + state.array_count()) * size;
  const auto send = [&](const std::shared_ptr<const std::vector<float>>& from, size_t at) {
    SendFloats(transport, node.peer, header, std::span(*from).subspan(at, size), from,
               slice_length);
    header.offset += size;
  };
  send(state.parameters, begin);
  for (size_t array = 0; array < state.array_count(); ++array) {
    send(state.arrays, array * state.parameters->size() + begin);
  }
}

}  // namespace

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

void ShardPlacement::Place(const std::vector<WorkerId>& owners,
                           std::map<WorkerId, std::string> members, const ShardState& state) {
  MOTLEY_ASSERT(owners.size() == route().shards() && shards_.empty());
  reads_ = setup_.hold.reads && members.lower_bound(setup_.workers) == members.end();
  choice_.Begin({setup_.followers, setup_.workers, setup_.servers_follow, reads_},
                std::move(members));
  first_ = {state.version, state.optimizer_steps};
  for (const WorkerId owner : owners) shards_.push_back({.owner = owner});
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    Shard& shard = shards_[number];
    while (const auto next = choice_.FollowerOf(shards_, number, state.version)) {
      shard.followers.insert(*next);
    }
    SendHold(number, shard.owner, &state);
    for (const WorkerId follower : shard.followers) SendHold(number, follower, &state);
  }
}

// The owner sends followers that read nothing.
void ShardPlacement::AddFollower(uint32_t number, WorkerId node, const ShardState* state) {
  shards_[number].followers.insert(node);
  if (state != nullptr) {
    SendHold(number, node, state);
    SendHold(number, shards_[number].owner, nullptr);
    return;
  }
  MOTLEY_ASSERT(reads_);
  wire::ShardHoldT hold = HoldFor(number, node);
  hold.known = false;
  hold.from_reading = true;
  hold.version = first_.version;
  hold.optimizer_steps = first_.optimizer_steps;
  coming_.Add(number, node);
  Tell(node, hold);
}

// The owner before has all that its heir has, so it is a follower that can take over at once.
// Updates wait until it knows that, because an owner takes no sums of others and reads nothing.
void ShardPlacement::HandOver(uint32_t number, WorkerId follower) {
  Shard& shard = shards_[number];
  MOTLEY_ASSERT(settled() && shard.followers.contains(follower) &&
                !coming_.contains(number, follower));
  shard.followers.erase(follower);
  shard.followers.insert(shard.owner);
  const WorkerId before = std::exchange(shard.owner, follower);
  ++shard.epoch;
  shard.handed_over = true;
  SendAgain(number, before);
  pending_[{number, before}] = {shard.epoch, /*gets_values=*/false};
  SendHold(number, follower, nullptr);
}

void ShardPlacement::DropFollower(uint32_t number, WorkerId follower) {
  shards_[number].followers.erase(follower);
  const Hold hold(number, follower);
  coming_.CaughtUp(number, follower);
  repeated_.erase(hold);
  wire::ShardDropT drop;
  drop.one = true;
  drop.shard = number;
  Tell(follower, drop);
  SendAgain(number, shards_[number].owner);
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
  hold.handed_over = shard.handed_over;
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
  pending_[{number, node}] = {hold.epoch, /*gets_values=*/state != nullptr};
  Tell(node, hold);
  const auto to = find_(node);
  if (state != nullptr && to) {
    SendState(transport_, *to, route(), number, *state, setup_.slice_length);
  }
}

// Tells a node what it holds, with the followers of today. Its answer shows that it is there.
void ShardPlacement::SendAgain(uint32_t number, WorkerId node) {
  repeated_.emplace(number, node);
  Tell(node, HoldFor(number, node));
}

Result<bool> ShardPlacement::OnHeld(WorkerId worker, const wire::ShardHeldT& held) {
  if (held.shard >= shards_.size()) {
    return Status::DataError("it holds a shard that does not exist");
  }
  const Hold hold(held.shard, worker);
  repeated_.erase(hold);  // The node is there, even if it has not gone back yet.
  if (held.rollbacks != rollback_.count) return false;
  if (!held.comes) coming_.HasRead(held.shard, worker);
  bool confirms = rolling_.erase(hold) > 0;
  const auto pending = pending_.find(hold);
  if (pending != pending_.end() && held.epoch >= pending->second.epoch) {
    pending_.erase(pending);
    confirms = true;
  }
  return confirms;
}

void ShardPlacement::Announce() const {
  for (const auto& [worker, address] : choice_.members()) Introduce(worker);
}

void ShardPlacement::Joined(WorkerId worker, const std::string& address) {
  choice_.Joined(worker, address);
  // A new owner that has not answered yet does not know that this worker has no values. All
  // workers learn of the owners once it has.
  if (settled()) Introduce(worker);
}

void ShardPlacement::Introduce(WorkerId worker) const {
  // With a shard that nobody has, the job ends, and says why to all workers.
  if (!reachable()) return;
  wire::ShardsT shards;
  shards.rollbacks = rollback_.count;
  for (const Shard& shard : shards_) shards.owners.push_back(shard.owner);
  for (const WorkerId node : nodes()) {
    const auto member = choice_.members().find(node);
    if (member == choice_.members().end()) continue;  // It is lost, and followed the shard.
    if (shards.addresses.size() <= node) shards.addresses.resize(node + 1);
    shards.addresses[node] = member->second;
  }
  Tell(worker, shards);
}

// --- Losses ---

void ShardPlacement::Left(WorkerId worker, Incarnation incarnation) {
  choice_.Left(worker);
  wire::ShardGoneT gone;
  gone.worker = worker;
  gone.incarnation = incarnation;
  TellAll(gone);
}

ShardPlacement::Loss ShardPlacement::Lose(WorkerId worker) {
  const auto of_worker = [worker](const Hold& hold) { return hold.second == worker; };
  std::erase_if(pending_, [&](const auto& each) { return of_worker(each.first); });
  std::erase_if(repeated_, of_worker);
  std::erase_if(rolling_, of_worker);
  coming_.Lost(worker);
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
    shard.handed_over = false;
    SendHold(number, *heir, nullptr);
  }
  return loss;
}

void ShardPlacement::RollBack(uint64_t version) {
  rollback_ = {rollback_.count + 1, version};
  coming_.RolledBack();
  for (uint32_t number = 0; number < shards_.size(); ++number) {
    for (const WorkerId node : shards_[number].nodes()) {
      rolling_.emplace(number, node);
      Tell(node, HoldFor(number, node));
    }
  }
}

std::set<WorkerId> ShardPlacement::Unsettled() const {
  std::set<WorkerId> nodes;
  for (const auto& [number, node] : rolling_) nodes.insert(node);
  for (const auto& [hold, awaited] : pending_) {
    // Values take as long as links need, and first owners wait for those of their followers.
    if (!awaited.gets_values && shards_[hold.first].epoch > 1) nodes.insert(hold.second);
  }
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
    const auto pending = pending_.find(hold);
    if (pending != pending_.end() && pending->second.gets_values) continue;
    if (coming_.contains(number, follower)) continue;
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
