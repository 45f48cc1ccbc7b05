// SPDX-License-Identifier: Apache-2.0
// The coordinator's side of a job whose shards workers hold: gives the shards to workers before the
// first step, holds the scheduler's commands while a shard moves, and carries an update from enough
// answers to the next version. Loop thread only.
//
//   the first OpenStep      VectorPlacement decides who owns which shard, while commands wait
//   placed                  the commands that waited are carried out
//   CommitStep              Commit: the sum ends, done() weighs it, Apply, applied()
//   an owner is lost        commands wait; UpdateLost if the open sum is lost with it
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "runtime/job.h"
#include "runtime/shard/answers.h"
#include "runtime/shard/remote_shards.h"
#include "runtime/survey/vector_placement.h"
#include "scheduler/scheduler.h"

namespace motley {

class RemoteUpdates {
 public:
  struct Hooks {
    ShardPlacement::Find node;
    std::function<void(const Command&)> execute;  // A command that waited.
    std::function<void()> answered;    // Answers may have stopped waiting (Answers::Awaits).
    std::function<void(Event)> raise;  // For the scheduler.
    std::function<void(const Status&)> failed;
    std::function<void(const JobNotice&)> notice;
    // The parameters and the optimizer's state of the newest version, to start with.
    std::function<ShardState()> first;
    // The server keeps all shards. Commands that waited follow.
    std::function<void()> star;
    std::function<void()> progress;                                         // As in RemoteShards.
    std::function<void(WorkerId node, notice::ShardsMoved::Why why)> left;  // As there.
  };

  RemoteUpdates(Loop& loop, Transport& transport, const JobOptions& options, const Route& route,
                uint64_t first_version, Answers& answers, Hooks hooks);

  // The command waits, because shards are on their way; it is carried out later.
  bool Holds(const Command& command);

  // A worker is ready, and accepts others at this address (empty: it does not).
  // `times_lost`: how often the connection to its node was lost before.
  void Ready(WorkerId worker, const std::string& address, uint32_t times_lost);
  // A message from a worker; false: it is not about shards or links. kDataError: it makes no sense.
  Result<bool> OnMessage(WorkerId worker, const wire::ControlT& control);
  // Frames of these kinds, when they begin and when they have arrived.
  static bool Takes(FrameKind kind) {
    return kind == FrameKind::kShardState || kind == FrameKind::kShardCopy ||
           kind == FrameKind::kLoad;
  }
  Result<std::span<std::byte>> BeginFrame(WorkerId worker, const Header& header);
  Status FinishFrame(WorkerId worker, const Header& header);

  // Call it before the scheduler hears of the loss. Afterwards TakeLost says if the open update has
  // to start again.
  void Lost(WorkerId worker, Incarnation incarnation, const Status& why);
  std::optional<StepId> TakeLost() { return std::exchange(lost_, std::nullopt); }

  // Runs once all shards are where they belong. For what failed because one is moving.
  void WhenPlaced(std::function<void()> then) { when_placed_.push_back(std::move(then)); }

  RemoteShards& shards() { return shards_; }
  bool began() const { return shards_.began(); }
  uint64_t version() const { return shards_.began() ? shards_.version() : first_version_; }

  // The update has enough answers. `summed` runs when its sum has ended, unless it is lost before.
  void Commit(const CommitStep& command, RemoteShards::Summed summed);

 private:
  void KeepStar();
  void GiveUp(StepId step);
  bool MayGo(const Command& command);
  void Drain();

  Answers& answers_;
  Hooks hooks_;
  RemoteShards shards_;
  VectorPlacement placement_;
  const uint64_t first_version_;
  std::map<WorkerId, std::string> ready_;  // Workers, with their addresses.
  std::deque<Command> held_;
  std::vector<std::function<void()>> when_placed_;
  bool draining_ = false;
  StepId open_ = 0;
  std::optional<StepId> lost_;
  bool losing_ = false;  // Inside Lost.
};

}  // namespace motley
