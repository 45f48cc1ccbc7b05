// SPDX-License-Identifier: Apache-2.0
// Which node should follow a shard, and which nodes may hold any. Loop thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"

namespace motley {

// The nodes that hold one shard.
struct PlacedShard {
  WorkerId owner = 0;
  std::set<WorkerId> followers;
  uint32_t epoch = 1;
  bool handed_over = false;  // By the owner before, which was not lost.

  std::set<WorkerId> nodes() const;
  bool HeldOnlyBy(const std::set<WorkerId>& nodes) const;
};

class HolderChoice {
 public:
  static constexpr uint64_t kForever = std::numeric_limits<uint64_t>::max();
  struct Rules {
    uint32_t followers = 1;  // Followers of each shard, as long as there are nodes.
    // Nodes from this one on are shard servers, which read no parameters.
    WorkerId workers = std::numeric_limits<WorkerId>::max();
    bool servers_follow = false;  // They follow before workers do.
    bool reads = false;           // Followers read the new values, so shard servers cannot follow.
  };

  void Begin(const Rules& rules, std::map<WorkerId, std::string> members);
  const Rules& rules() const { return rules_; }
  // All nodes of the job, with the address of each one's host, which is empty if it has none.
  const std::map<WorkerId, std::string>& members() const { return members_; }
  void Joined(WorkerId worker, const std::string& address);
  void Left(WorkerId worker);

  // Before `version`, the worker gets a shard only if that has no other follower. Where updates
  // wait for a copy, it gets none at all before it is heard. kForever: as long as it is there.
  void Shun(WorkerId worker, uint64_t version) { shunned_[worker] = {version, false}; }
  // The same for a worker that came back, so it does not hang. Ends when the worker leaves.
  void Rest(WorkerId worker, uint64_t version) { rests_[worker] = version; }
  // The worker has said something, so it does not hang.
  void Heard(WorkerId worker);

  // The worker may follow and own shards at this version.
  bool MayHold(WorkerId worker, uint64_t version) const;
  // The other nodes are enough for owners and followers.
  bool CanSpare(WorkerId worker, uint64_t version) const;
  // Another follower for this shard, if it should have one and there is a node for it.
  std::optional<WorkerId> FollowerOf(const std::vector<PlacedShard>& shards, uint32_t number,
                                     uint64_t version) const;

 private:
  struct Shunned {
    uint64_t until = 0;  // The version.
    bool heard = false;  // It has said something since.
  };

  bool Shuns(WorkerId worker, uint64_t version) const;
  bool MayFollowAlone(WorkerId worker) const;
  std::optional<WorkerId> Best(const std::vector<PlacedShard>& shards, const PlacedShard& shard,
                               const std::function<bool(WorkerId)>& may_follow) const;

  Rules rules_;
  std::map<WorkerId, std::string> members_;
  std::map<WorkerId, Shunned> shunned_;
  std::map<WorkerId, uint64_t> rests_;  // Until this version.
};

// Followers that read the new values, and that have not read a version that counts yet.
class ComingFollowers {
 public:
  void Add(uint32_t shard, WorkerId node) { coming_[{shard, node}] = false; }
  bool contains(uint32_t shard, WorkerId node) const { return coming_.contains({shard, node}); }
  // It has read some version, so updates can wait for it.
  void HasRead(uint32_t shard, WorkerId node);
  // It has the version that counts now.
  void CaughtUp(uint32_t shard, WorkerId node) { coming_.erase({shard, node}); }
  void RolledBack();
  void Lost(WorkerId node);
  // The nodes that hold the shard, without those that have read nothing.
  std::set<WorkerId> WithoutThem(uint32_t number, const PlacedShard& shard) const;

 private:
  std::map<std::pair<uint32_t, WorkerId>, bool> coming_;  // True: it has read something.
};

}  // namespace motley
