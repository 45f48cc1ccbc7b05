// SPDX-License-Identifier: Apache-2.0
#include "runtime/shard/remote_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "runtime/shard/shard_host.h"
#include "runtime/worker_names.h"

namespace motley {
namespace {

// For how many updates a node gets no shards after its fault of this number, from 1.
uint64_t RestAfter(uint32_t times) {
  constexpr uint64_t kFirstRest = 16;
  constexpr uint32_t kMostDoublings = 10;
  return kFirstRest << std::min(times - 1, kMostDoublings);
}

ShardPlacement::Setup PlacementOf(const RemoteShards::Setup& setup) {
  wire::ShardHoldT hold;
  SetOptimizer(hold, setup.optimizer);
  hold.keep_rows = setup.keep_rows;
  hold.reads = setup.reads;
  ShardPlacement::Setup placement{setup.route, setup.slice_length, setup.followers, std::move(hold),
                                  setup.workers};
  placement.servers_follow = setup.servers_follow;
  return placement;
}

ShardUpdate::Hooks UpdateHooksOf(const RemoteShards::Setup& setup,
                                 const RemoteShards::Hooks& hooks) {
  ShardUpdate::Hooks update{hooks.whole, hooks.decodable, nullptr};
  if (!setup.audit_secret) return update;
  update.signs = [secret = *setup.audit_secret](StepId step, uint32_t attempt, WorkerId node) {
    return SignsOfNode(secret, step, attempt, node);
  };
  return update;
}

}  // namespace

RemoteShards::RemoteShards(Loop& loop, Transport& transport, const Setup& setup, Hooks hooks)
    : workers_(setup.workers),
      places_(setup.places),
      slice_length_(setup.slice_length),
      hooks_(std::move(hooks)),
      placement_(transport, PlacementOf(setup), hooks_.node),
      update_(placement_, setup.keep_rows, UpdateHooksOf(setup, hooks_)),
      readers_{ShardReader(placement_),
               AuditReader(placement_, setup.audit_secret.value_or(0), setup.workers),
               CopyReader(loop, placement_, setup.slice_length, setup.workers)},
      late_nodes_(loop, placement_, update_, readers_.audits,
                  [this](WorkerId node) {
                    Leave(node, Cause::kLate, "it was late with its part of an update");
                  }),
      moves_(placement_) {}

void RemoteShards::Place(const std::vector<WorkerId>& owners,
                         std::map<WorkerId, std::string> members, const State& state) {
  update_.SetVersion(state.version);
  placement_.Place(owners, std::move(members), state);
  moves_.Begin();
}

void RemoteShards::CheckPlaced() {
  if (!placed()) return;
  placement_.Announce();
  hooks_.placed();
}

void RemoteShards::Joined(WorkerId worker, const std::string& address, uint32_t times_lost) {
  if (!began()) return;
  placement_.Joined(worker, address);
  if (times_lost > 1) placement_.choice().Rest(worker, version() + RestAfter(times_lost - 1));
}

Status RemoteShards::Open(const Update& update, uint32_t attempt,
                          const std::shared_ptr<const CodeForm>& form) {
  late_nodes_.Restart(/*again=*/attempt > 1);
  return update_.Open(update, attempt, form);
}

void RemoteShards::Apply(const wire::ShardApplyT& apply, ShardUpdate::Applied applied) {
  update_.Apply(apply, std::move(applied));
  late_nodes_.Watch();
}

Slicing RemoteShards::CutOf(const CodeForm* form) const {
  const Route& route = placement_.route();
  return RangeAnswers::CutOf(route.Answers(slice_length_, WireFormat::kFloat32), form);
}

Result<bool> RemoteShards::OnMessage(WorkerId worker, const wire::ControlT& control) {
  placement_.choice().Heard(worker);
  if (const auto* log = control.body.AsShardLog()) {
    MOTLEY_RETURN_IF_ERROR(readers_.audits.OnLog(worker, *log));
    return true;
  }
  if (const auto* copied = control.body.AsShardCopied()) {
    MOTLEY_RETURN_IF_ERROR(readers_.copies.OnCopied(worker, *copied));
    return true;
  }
  if (const auto* reached = control.body.AsShardReached()) {
    if (reached->node >= places_) {
      return Status::DataError(fmt::format("it reports on node {} of {}", reached->node, places_));
    }
    const bool reaches = !reached->lost && !reached->closed;
    if (reaches) moves_.Reached(worker, reached->node);
    if (!reaches) moves_.Unreached(worker, reached->node);
    // A worker that cannot reach the owner of a shard leaves the job by itself.
    const bool owns = std::any_of(placement_.shards().begin(), placement_.shards().end(),
                                  [&](const auto& shard) { return shard.owner == reached->node; });
    if (reached->lost && began() && !owns) {
      Leave(reached->node, Cause::kUnreached, DescribeNode(worker, workers_) + " cannot reach it",
            /*for_good=*/true);
    }
    return true;
  }
  Result<bool> forward = false;
  if (const auto* row = control.body.AsShardRow()) {
    forward = update_.OnRow(worker, *row);
  } else if (const auto* summed = control.body.AsShardSummed()) {
    forward = update_.OnSummed(worker, *summed);
  } else if (const auto* safe = control.body.AsShardSafe()) {
    forward = update_.OnSafe(worker, *safe);
  } else if (const auto* applied = control.body.AsShardApplied()) {
    forward = update_.OnApplied(worker, *applied);
  } else if (const auto* held = control.body.AsShardHeld()) {
    forward = placement_.OnHeld(worker, *held);
    if (forward.ok()) CheckPlaced();
  } else if (const auto* refused = control.body.AsShardRefused()) {
    const bool counts =
        placement_.Owns(worker, refused->shard) && update_.IsOpen(refused->step, refused->attempt);
    if (counts) hooks_.refused(*refused);
  } else {
    return false;
  }
  late_nodes_.Watch();
  if (!forward.ok()) return forward.status();
  // An answer to a question is no progress, however often a node that hangs gives it.
  if (*forward) hooks_.progress();
  return true;
}

// --- Losses ---

void RemoteShards::Lost(WorkerId worker, Incarnation incarnation, const Status& why) {
  moves_.Left(worker);
  if (!began()) return;
  placement_.Left(worker, incarnation);
  late_nodes_.Lost(worker);
  Forsake(worker, Cause::kLost, why);
  readers_.copies.Lost(worker, why);
}

// Nothing is held by this worker any more.
void RemoteShards::Forsake(WorkerId worker, Cause cause, const Status& why) {
  update_.Lost(worker);
  const ShardPlacement::Loss loss = placement_.Lose(worker);
  if (!loss.any) return;
  if (cause != Cause::kLost) hooks_.left(worker, cause);
  if (!loss.moved.empty()) hooks_.moved({worker, loss.moved, cause});
  if (loss.gone) {
    update_.GiveUp();  // Nothing is waited for any more.
    const std::string nobody =
        loss.coming ? fmt::format("{}, which was to follow it, did not have its values yet",
                                  DescribeNode(*loss.coming, workers_))
                    : "nobody followed it";
    hooks_.failed(Status::Unavailable(fmt::format(
        "shard {} of {} is lost with {} ({}), and {}: resume from a checkpoint, or start with "
        "more `followers`",
        *loss.gone, placement_.shards().size(), DescribeNode(worker, workers_), why.ToString(),
        nobody)));
  }
  const bool safe = std::all_of(loss.moved.begin(), loss.moved.end(),
                                [this](const auto& each) { return update_.Moved(each.first); });
  if (!safe) StartAgain(why);
  readers_.audits.GiveUp(why);
  if (fetching()) {
    readers_.versions.Finish(Status::Unavailable(
        fmt::format("{} was lost with its shards", DescribeNode(worker, workers_))));
  }
  update_.Check();
  CheckPlaced();
  late_nodes_.Watch();
}

void RemoteShards::StartAgain(const Status& why) {
  const ShardUpdate::Applied applied = update_.GiveUp();
  if (applied != nullptr) placement_.RollBack(version());
  hooks_.restart(why);
  if (applied != nullptr) applied(Status::Cancelled("the update was taken back"));
}

// Others take over what the node holds.
void RemoteShards::Leave(WorkerId node, Cause cause, const std::string& why, bool for_good) {
  auto& [times, last] = late_[node];
  if (times == 0 || last != version()) ++times;
  last = version();
  placement_.choice().Shun(node, for_good ? HolderChoice::kForever : version() + RestAfter(times));
  if (cause == Cause::kSlow) placement_.choice().Heard(node);
  if (!placement_.CanLose(node)) return;  // It alone has a shard, so it is waited for.
  placement_.Tell(node, wire::ShardDropT());
  Forsake(node, cause, Status::Unavailable(why));
}

void RemoteShards::Fetch(Part part, ShardReader::Fetched fetched) {
  MOTLEY_ASSERT(!applying());
  readers_.versions.Fetch(part, version(), std::move(fetched));
}

// --- Between two updates ---

void RemoteShards::Arrange() {
  // A copy of a shard that has no owner any more would never come.
  if (!began() || !placed() || fetching() || !reachable()) return;
  const bool again = update_.attempt() > 0;  // An update starts again, on the same nodes.
  // An audit reads the logs of owners as they were.
  const bool audits = !readers_.audits.Awaited().empty();
  const auto slow = again || audits ? std::nullopt : late_nodes_.TakeSlow();
  if (slow && placement_.choice().CanSpare(*slow, version())) {
    // It goes on computing.
    Leave(*slow, Cause::kSlow, "it held up one update after the other");
    if (!placed()) return;
  }
  const std::set<uint32_t> lacking = moves_.Lacking(version());
  if (!lacking.empty() && !placement_.reads()) {
    return Copy(lacking,
                [this, lacking](const State& state) { moves_.Fill(version(), lacking, &state); });
  }
  if (!lacking.empty()) {
    moves_.Fill(version(), lacking, nullptr);
    placement_.Announce();
  }
  if (!again) Move();
}

void RemoteShards::Move() {
  using Kind = ShardMoves::Move::Kind;
  const std::optional<ShardMoves::Move> move = moves_.Next(version());
  for (const auto& [worker, shards] : moves_.TakeGained()) hooks_.gained(worker, shards);
  if (!move) return;
  const auto [kind, shard, node] = *move;
  if (kind == Kind::kDrop) {
    placement_.DropFollower(shard, node);
  } else if (kind == Kind::kHandOver) {
    placement_.HandOver(shard, node);
    late_nodes_.Watch();
  } else if (placement_.reads()) {
    placement_.AddFollower(shard, node, nullptr);
    placement_.Announce();
  } else {
    Copy({shard}, [this, shard = shard, node = node](const State& state) {
      if (placement_.choice().MayHold(node, version())) placement_.AddFollower(shard, node, &state);
    });
  }
}

// Reads these shards for new followers.
void RemoteShards::Copy(const std::set<uint32_t>& shards,
                        std::function<void(const State&)> copied) {
  refilling_ = true;
  readers_.versions.Fetch(Part::kValuesAndState, version(), shards,
                          [this, copied = std::move(copied)](const Result<State>& state) {
                            refilling_ = false;
                            if (state.ok()) copied(*state);
                            CheckPlaced();
                          });
}

}  // namespace motley
