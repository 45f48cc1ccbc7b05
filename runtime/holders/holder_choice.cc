// SPDX-License-Identifier: Apache-2.0
#include "runtime/holders/holder_choice.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace motley {

std::set<WorkerId> PlacedShard::nodes() const {
  std::set<WorkerId> nodes = followers;
  nodes.insert(owner);
  return nodes;
}

bool PlacedShard::HeldOnlyBy(const std::set<WorkerId>& nodes) const {
  return nodes.contains(owner) &&
         std::includes(nodes.begin(), nodes.end(), followers.begin(), followers.end());
}

void HolderChoice::Begin(const Rules& rules, std::map<WorkerId, std::string> members) {
  rules_ = rules;
  members_ = std::move(members);
}

void HolderChoice::Joined(WorkerId worker, const std::string& address) {
  members_[worker] = address;
  Heard(worker);
}

void HolderChoice::Left(WorkerId worker) {
  members_.erase(worker);
  rests_.erase(worker);
  const auto shunned = shunned_.find(worker);
  if (shunned != shunned_.end() && shunned->second.until == kForever) shunned_.erase(shunned);
}

void HolderChoice::Heard(WorkerId worker) {
  const auto shunned = shunned_.find(worker);
  if (shunned != shunned_.end()) shunned->second.heard = true;
}

// Short updates pass fast, and a node may hang for longer than it is shunned. A copy for it would
// then hold up the job.
bool HolderChoice::Shuns(WorkerId worker, uint64_t version) const {
  const auto rests = rests_.find(worker);
  if (rests != rests_.end() && version < rests->second) return true;
  const auto shunned = shunned_.find(worker);
  if (shunned == shunned_.end()) return false;
  return version < shunned->second.until || !(rules_.reads || shunned->second.heard);
}

// A node that was late or lost is better than none once it is back. If it reads, nothing waits for
// that.
bool HolderChoice::MayFollowAlone(WorkerId worker) const {
  const auto shunned = shunned_.find(worker);
  if (shunned == shunned_.end()) return true;
  return shunned->second.until != kForever && (rules_.reads || shunned->second.heard);
}

bool HolderChoice::MayHold(WorkerId worker, uint64_t version) const {
  const auto member = members_.find(worker);
  if (member == members_.end() || member->second.empty()) return false;
  return !(rules_.reads && worker >= rules_.workers) && !Shuns(worker, version);
}

bool HolderChoice::CanSpare(WorkerId worker, uint64_t version) const {
  const auto others = std::count_if(members_.begin(), members_.end(), [&](const auto& member) {
    return member.first != worker && MayHold(member.first, version);
  });
  return others > static_cast<int64_t>(rules_.followers);
}

// A node that could follow the shard: the next one behind its owner that follows the fewest for
// those that it owns. Those of the same owner count twice, so that the shards of a node that is
// lost are spread. Shares of the vector follow links, and an update waits for followers. So a node
// that owns little for its slow link follows little, and one without a shard follows only if it
// must.
std::optional<WorkerId> HolderChoice::Best(const std::vector<PlacedShard>& shards,
                                           const PlacedShard& shard,
                                           const std::function<bool(WorkerId)>& may_follow) const {
  std::map<WorkerId, double> owned, followed;
  for (const PlacedShard& each : shards) {
    ++owned[each.owner];
    for (const WorkerId follower : each.followers) {
      followed[follower] += each.owner == shard.owner ? 2 : 1;
    }
  }
  const auto rank = [&](WorkerId worker) {
    const bool owns = owned[worker] > 0;
    return std::tuple(rules_.servers_follow && worker < rules_.workers, !owns,
                      owns ? followed[worker] / owned[worker] : followed[worker]);
  };
  std::optional<WorkerId> best;
  const auto consider = [&](WorkerId worker, const std::string& address) {
    const bool can = !address.empty() && worker != shard.owner && !shard.followers.contains(worker);
    if (!can || (rules_.reads && worker >= rules_.workers) || !may_follow(worker)) return;
    if (!best || rank(worker) < rank(*best)) best = worker;
  };
  const auto behind = members_.upper_bound(shard.owner);
  for (auto at = behind; at != members_.end(); ++at) consider(at->first, at->second);
  for (auto at = members_.begin(); at != behind; ++at) consider(at->first, at->second);
  return best;
}

std::optional<WorkerId> HolderChoice::FollowerOf(const std::vector<PlacedShard>& shards,
                                                 uint32_t number, uint64_t version) const {
  const PlacedShard& shard = shards[number];
  if (shard.followers.size() >= rules_.followers) return std::nullopt;
  const auto best = Best(shards, shard, [&](WorkerId worker) { return !Shuns(worker, version); });
  if (best || !shard.followers.empty()) return best;
  return Best(shards, shard, [this](WorkerId worker) { return MayFollowAlone(worker); });
}

void ComingFollowers::HasRead(uint32_t shard, WorkerId node) {
  const auto coming = coming_.find({shard, node});
  if (coming != coming_.end()) coming->second = true;
}

void ComingFollowers::RolledBack() {
  for (auto& [hold, has_read] : coming_) has_read = false;
}

void ComingFollowers::Lost(WorkerId node) {
  std::erase_if(coming_, [node](const auto& each) { return each.first.second == node; });
}

std::set<WorkerId> ComingFollowers::WithoutThem(uint32_t number, const PlacedShard& shard) const {
  std::set<WorkerId> nodes = shard.nodes();
  for (auto at = coming_.lower_bound({number, 0}); at != coming_.end(); ++at) {
    if (at->first.first != number) break;
    if (!at->second) nodes.erase(at->first.second);
  }
  return nodes;
}

}  // namespace motley
