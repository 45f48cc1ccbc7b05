// SPDX-License-Identifier: Apache-2.0
// Finds new followers for shards, and says which shard should move between two updates, so that
// each worker owns its part of the vector. The parts are those of the first placement, which follow
// links. A worker that took no part in it gets the mean of its kind. So a worker that was late owns
// shards again when it may, and so does one that joined the running job.
//
// A shard moves in three steps, each before another update: its next owner follows it, it is handed
// over, and a follower that is too many drops it. Loop thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "runtime/holders/shard_placement.h"

namespace motley {

class ShardMoves {
 public:
  struct Move {
    enum class Kind : uint8_t { kFollow, kHandOver, kDrop };
    Kind kind = Kind::kFollow;
    uint32_t shard = 0;
    WorkerId node = 0;  // It gets the shard, or drops it.
    bool operator==(const Move&) const = default;
  };
  using Gained = std::map<WorkerId, uint32_t>;  // Shards by worker.

  // `placement` is borrowed.
  explicit ShardMoves(ShardPlacement& placement) : placement_(placement) {}

  void Begin();  // The shards have their first owners.
  // Shards that lack a follower, if a node could be one.
  std::set<uint32_t> Lacking(uint64_t version) const;
  // Adds followers of these shards at this version. `state` has their values; null: followers read.
  void Fill(uint64_t version, const std::set<uint32_t>& shards, const ShardState* state);
  // The worker has a connection to this node. A node that others do not reach gets no shards.
  void Reached(WorkerId worker, WorkerId node) { reached_[node].insert(worker); }
  void Unreached(WorkerId worker, WorkerId node) { reached_[node].erase(worker); }
  void Left(WorkerId worker);
  // What to do before the update of this version; at most once for each version. The shards must be
  // settled.
  std::optional<Move> Next(uint64_t version);
  // How many shards each worker got since the last call; empty while shards still move.
  Gained TakeGained();

 private:
  struct Going {
    uint32_t shard = 0;
    WorkerId to = 0;
    uint64_t since = 0;  // The version.
  };

  void CountGained();
  std::optional<Move> GoOn(uint64_t version);
  std::optional<Move> DropSurplus() const;
  std::optional<Move> Start(uint64_t version);
  std::map<WorkerId, double> Parts(uint64_t version) const;
  double WeightOf(WorkerId worker) const;
  bool AllReach(WorkerId node) const;
  bool Waits(WorkerId worker, uint64_t version) const;
  uint32_t ShardToMove(WorkerId from, WorkerId to) const;

  ShardPlacement& placement_;
  std::vector<WorkerId> first_;                     // The first owners, by shard.
  std::map<WorkerId, double> weights_;              // Shards that each worker had at first.
  std::map<WorkerId, std::set<WorkerId>> reached_;  // By node: who has a connection to it.
  std::optional<Going> going_;
  std::optional<uint64_t> looked_;           // The version of the last look.
  std::optional<uint64_t> copied_;           // The version of the last copy.
  std::map<WorkerId, uint64_t> not_before_;  // Workers that did not follow in time.
  std::optional<Going> handed_over_;  // The last one, until its new owner is known to own it.
  Gained gained_;
  bool balanced_ = false;  // Nothing is left to move.
};

}  // namespace motley
