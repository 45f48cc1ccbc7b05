// SPDX-License-Identifier: Apache-2.0
// The shards of a job as its coordinator sees them when workers hold them. It joins who holds each
// shard (ShardPlacement), how far the open update is (ShardUpdate), which nodes hold it up
// (LateNodes), and what is read back (Readers). The other ends are ShardHosts. Loop thread only.
//
// An update is applied only when a follower of each shard has its sum too. From then on no loss of
// one node can stop it, and no version exists twice with other values. An owner that is lost before
// that takes the update's sum along, and the update starts again (hook restart). Its follower owns
// the shard under a new epoch.
//
// Without an optimizer's state followers get no sums: they are workers, and read the new values
// anyway. The next version then counts only when a follower of each shard has it. If an owner is
// lost before that, all nodes go back to the version before (ShardPlacement::RollBack), and the
// update starts again. Nobody has used the version that is lost, because no order named it.
//
// A node that is late loses its shards to its followers, and owns nothing for a while, the longer
// the more often it was late. It stays a worker. Later it gets shards again, and so does a worker
// that joins (ShardMoves).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "coding/code_form.h"
#include "runtime/holders/audit_reader.h"
#include "runtime/holders/copy_reader.h"
#include "runtime/holders/late_nodes.h"
#include "runtime/holders/shard_moves.h"
#include "runtime/holders/shard_placement.h"
#include "runtime/holders/shard_reader.h"
#include "runtime/holders/shard_update.h"
#include "runtime/job_notice.h"
#include "training/optimizers/optimizer.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

class RemoteShards {
 public:
  using State = ShardState;
  using Part = ShardReader::Part;
  using Sum = ShardUpdate::Sum;
  using Summed = ShardUpdate::Summed;
  struct Hooks {
    using Node = LinkLoad::To;
    ShardPlacement::Find node;
    // All shards have this row of the open update, or this vector of a list.
    std::function<void(const wire::ShardRowT&)> whole;
    std::function<void(const wire::ShardRefusedT&)> refused;
    std::function<void()> decodable;  // All shards have the sum of the open update.
    // Part of the open update's sum is lost, so it has to start again.
    std::function<void(const Status& why)> restart;
    // All shards are where they belong, as before.
    std::function<void()> placed;
    // Shards that a worker owned have other owners now.
    std::function<void(const notice::ShardsMoved&)> moved;
    // A node that is still there holds no shards any more. `moved` follows if it owned some.
    std::function<void(WorkerId node, notice::ShardsMoved::Why why)> left;
    // The worker owns so many shards more, which their owners handed over.
    std::function<void(WorkerId worker, uint32_t shards)> gained;
    // A shard is lost, or an update failed in one: the job cannot go on.
    std::function<void(const Status&)> failed;
    // A node has done what the open update, or the placement, waits for.
    std::function<void()> progress;
  };
  struct Setup {
    Route route;
    size_t slice_length = 0;  // Floats.
    OptimizerOptions optimizer;
    bool keep_rows = false;       // As in DecodeLimits.
    uint32_t followers = 1;       // Followers of each shard, as long as there are nodes.
    bool reads = false;           // Workers that follow could read the new values, and get no sums.
    uint32_t workers = 0;         // Nodes from this one on are shard servers.
    uint32_t places = 0;          // Workers and shard servers.
    bool servers_follow = false;  // Shard servers follow before workers do.
    // Nodes log what they get for audits, with signs that come from this secret; none: no audits.
    std::optional<uint64_t> audit_secret;
  };

  // What is read back from owners. Each takes the frames that arrive for it.
  struct Readers {
    ShardReader versions;  // The newest version, while nothing else goes on.
    AuditReader audits;
    CopyReader copies;  // Versions for checkpoints, while steps go on.

    ShardReader& Of(const Header& state) {
      return versions.Takes(state) ? versions : audits.values();
    }
  };

  RemoteShards(Loop& loop, Transport& transport, const Setup& setup, Hooks hooks);

  void Place(const std::vector<WorkerId>& owners, std::map<WorkerId, std::string> members,
             const State& state);
  // Every shard is held by its owner and followers. While that is not so, no command of the
  // scheduler may be carried out.
  bool placed() const { return placement_.settled() && !refilling_; }
  bool began() const { return !placement_.shards().empty(); }
  bool reachable() const { return placement_.reachable(); }

  // A worker joined. It learns who owns what, and may hold shards if it has an address. A worker
  // that was lost more than once before gets no shards for some updates.
  void Joined(WorkerId worker, const std::string& address, uint32_t times_lost = 0);
  // This incarnation of a worker is gone, with what it held.
  void Lost(WorkerId worker, Incarnation incarnation, const Status& why);

  // A message from a worker; false: it is not about shards. kDataError: it makes no sense.
  Result<bool> OnMessage(WorkerId worker, const wire::ControlT& control);

  // --- Updates: as in ShardUpdate ---
  Status Open(const Update& update, uint32_t attempt, const std::shared_ptr<const CodeForm>& form);
  void Add(const wire::ShardAddT& vector) { placement_.TellAll(vector); }
  void EndSum(bool approximately, Summed summed) {
    update_.EndSum(approximately, std::move(summed));
  }
  void Apply(const wire::ShardApplyT& apply, ShardUpdate::Applied applied);
  bool CanApply(StepId step, uint32_t attempt) const { return update_.CanApply(step, attempt); }
  uint32_t attempt() const { return update_.attempt(); }
  uint64_t version() const { return update_.version(); }
  bool applying() const { return update_.applying(); }
  // Nodes go back to the version before. Nothing can be read from them until they are placed().
  bool rolling_back() const { return !placement_.Unsettled().empty(); }

  // Reads the newest version back, with the optimizer's state if wanted, or instead of it the sum
  // that is about to be applied. One at a time, and not while an update is applied. `fetched` runs
  // with kUnavailable if a shard is lost meanwhile.
  void Fetch(Part part, ShardReader::Fetched fetched);
  bool fetching() const { return readers_.versions.fetching(); }
  Readers& readers() { return readers_; }
  // Reads what an audit of the open step needs. Apply may follow at once. `reported` runs with
  // kUnavailable if a node is lost meanwhile.
  void ReadForAudit(StepId step, AuditReader::Reported reported) {
    readers_.audits.Read(step, attempt(), version(), std::move(reported));
  }
  const ShardPlacement& placement() const { return placement_; }
  // The cut of answers to an update (as in RangeAnswers::CutOf).
  Slicing CutOf(const CodeForm* form) const;
  // Finds new followers for shards that lost one, and moves shards to workers that own too few.
  // Between updates only; placed() is false until all nodes are ready for the next one.
  void Arrange();

 private:
  void CheckPlaced();
  void Move();
  void Copy(const std::set<uint32_t>& shards, std::function<void(const State&)> copied);
  using Cause = notice::ShardsMoved::Why;
  void Leave(WorkerId node, Cause cause, const std::string& why, bool for_good = false);
  void Forsake(WorkerId worker, Cause cause, const Status& why);
  void StartAgain(const Status& why);

  const uint32_t workers_;
  const uint32_t places_;
  const size_t slice_length_;
  const Hooks hooks_;
  ShardPlacement placement_;
  ShardUpdate update_;
  Readers readers_;
  LateNodes late_nodes_;
  ShardMoves moves_;
  struct Late {
    uint32_t times = 0;
    uint64_t version = 0;  // That of the last time.
  };
  std::map<WorkerId, Late> late_;
  bool refilling_ = false;  // A fetch for new followers runs.
};

}  // namespace motley
