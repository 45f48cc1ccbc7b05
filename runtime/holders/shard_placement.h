// SPDX-License-Identifier: Apache-2.0
// Which workers hold the shards of a job: each shard has an owner, and followers that can take
// over. The coordinator gives shards to workers and announces the owners. Loop thread only.
//
//   Place          ShardHold and the state to owners and followers
//   all held       settled(); Announce names the owners to all workers
//   Lose           followers of the lost owner own its shards, each under a new epoch
//   AddFollower    ShardHold and the state to a new follower
//   HandOver       a follower owns the shard, and its owner follows it, under a new epoch
//   RollBack       ShardHold to all nodes, which go back to an earlier version
//
// New followers that read the new values need no copy. They are coming() until they have read a
// version that counts. Before they have read any, only a rollback waits for them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "runtime/holders/holder_choice.h"
#include "runtime/links/messages.h"
#include "runtime/links/route.h"
#include "runtime/survey/link_load.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

// The parameters of all shards, and the arrays of the optimizer's state, each as long as the
// parameters. Shared, and nobody changes them.
struct ShardState {
  uint64_t version = 0;
  std::shared_ptr<const std::vector<float>> parameters;
  uint64_t optimizer_steps = 0;
  // Null: no update was made yet, or no fetch asked for them.
  std::shared_ptr<const std::vector<float>> arrays;

  size_t array_count() const { return arrays != nullptr ? arrays->size() / parameters->size() : 0; }
};

class ShardPlacement {
 public:
  using Shard = PlacedShard;
  struct Setup {
    Route route;
    size_t slice_length = 0;  // Floats.
    uint32_t followers = 1;   // Followers of each shard, as long as there are nodes.
    // What ShardHold says of every shard. Followers read only if there are no shard servers.
    wire::ShardHoldT hold;
    // Nodes from this one on are shard servers, which read no parameters.
    WorkerId workers = std::numeric_limits<WorkerId>::max();
    bool servers_follow = false;  // They follow before workers do.
  };
  // The connection to a worker, and the header of messages to it; nothing if it is not connected.
  using Find = std::function<std::optional<LinkLoad::To>(WorkerId)>;

  ShardPlacement(Transport& transport, Setup setup, Find find)
      : transport_(transport), setup_(std::move(setup)), find_(std::move(find)) {}

  // Gives the shards to these workers (by shard). Followers are chosen among `members`: all workers
  // of the job, with the address of each one's host, which is empty if it has none.
  void Place(const std::vector<WorkerId>& owners, std::map<WorkerId, std::string> members,
             const ShardState& state);
  // Every shard is held by its owner and followers.
  bool settled() const { return pending_.empty() && rolling_.empty(); }
  // The nodes that have not gone back yet, and those that got another role in what they have and
  // have not answered.
  std::set<WorkerId> Unsettled() const;
  const std::vector<Shard>& shards() const { return shards_; }
  const Route& route() const { return setup_.route; }
  size_t count() const;                  // Parameters of all shards.
  bool reads() const { return reads_; }  // Followers read the new values, and get no sums.
  bool Owns(WorkerId worker, uint32_t shard) const {
    return shard < shards_.size() && shards_[shard].owner == worker;
  }
  bool reachable() const;  // The owners of all shards are connected.
  std::set<WorkerId> nodes() const;

  template <typename Message>
  void Tell(WorkerId worker, const Message& message) const {
    const auto node = find_(worker);
    if (node) SendControl(transport_, node->peer, node->header, message);
  }
  template <typename Message>
  void TellAll(const Message& message) const {  // All that hold something.
    for (const WorkerId node : nodes()) Tell(node, message);
  }

  // Names the owners to all workers, or to one that joined. It may hold shards if it has an
  // address.
  void Announce() const;
  void Joined(WorkerId worker, const std::string& address);
  // A worker's incarnation is gone. Lose follows.
  void Left(WorkerId worker, Incarnation incarnation);
  // True: it confirms what updates wait for, and not only that the node is there.
  Result<bool> OnHeld(WorkerId worker, const wire::ShardHeldT& held);

  struct Loss {
    bool any = false;                    // The worker held something.
    std::map<uint32_t, WorkerId> moved;  // The new owners of shards that it owned.
    std::optional<uint32_t> gone;        // A shard that no other worker has.
    std::optional<WorkerId> coming;      // Its follower, which still gets the values.
  };
  // The worker holds nothing any more. Followers take over what it owned. One that was asked and
  // did not answer yet is better than none, and is then waited for.
  Loss Lose(WorkerId worker);
  // All nodes go back to this version, the one before that of the last update.
  void RollBack(uint64_t version);
  // Others that answer can take over all that the worker owns.
  bool CanLose(WorkerId worker) const;

  // Asks nodes for a sign by repeating to them what they hold.
  void Ask(const std::set<WorkerId>& nodes);
  bool Silent(WorkerId node) const;  // It has not answered since it was asked.

  // --- Between two updates, with all shards settled ---

  // One more follower. `state` has the shard's values; null: followers read.
  void AddFollower(uint32_t shard, WorkerId node, const ShardState* state);
  void HandOver(uint32_t shard, WorkerId follower);
  void DropFollower(uint32_t shard, WorkerId follower);

  HolderChoice& choice() { return choice_; }
  ComingFollowers& coming() { return coming_; }

 private:
  using Hold = std::pair<uint32_t, WorkerId>;
  // An answer that updates wait for.
  struct Awaited {
    uint32_t epoch = 0;        // The least one that it has to name.
    bool gets_values = false;  // The node cannot take over before it has answered.
  };

  std::optional<WorkerId> HeirOf(uint32_t shard) const;
  wire::ShardHoldT HoldFor(uint32_t shard, WorkerId node) const;
  void SendHold(uint32_t shard, WorkerId node, const ShardState* state);
  void SendAgain(uint32_t shard, WorkerId node);
  void Introduce(WorkerId worker) const;

  Transport& transport_;
  const Setup setup_;
  const Find find_;
  std::vector<Shard> shards_;
  bool reads_ = false;
  std::map<Hold, Awaited> pending_;  // Those to be confirmed before an update may go on.
  std::set<Hold> repeated_;          // Those that were sent again and not answered.
  std::set<Hold> rolling_;           // Those that have to go back to an earlier version first.
  struct {
    uint32_t count = 0;
    uint64_t version = 0;
  } rollback_;  // The last one.
  HolderChoice choice_;
  ComingFollowers coming_;
  struct {
    uint64_t version = 0;
    uint64_t optimizer_steps = 0;
  } first_;  // The version that the shards were placed with.
};

}  // namespace motley
