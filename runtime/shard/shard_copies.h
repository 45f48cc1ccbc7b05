// SPDX-License-Identifier: Apache-2.0
// What a node keeps of the shards that it owns, so that a checkpoint can be read while steps go on:
// the values of one version, which it shares with their readers, and a copy of the optimizer's
// state. The copies stay here if the shard moves to another node. The coordinator
// (runtime/holders/copy_reader.h) asks for them piece by piece.
//
// A piece leaves when no bytes of steps wait for the node's links. So it delays a step by its own
// length at most. On links that are never free, it leaves after a second all the same. A reading
// waits ten seconds in all, so that one slow link does not make it last for hours. Loop thread
// only, but for the copying, which the device does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/loop/loop.h"
#include "devices/device.h"
#include "runtime/alive.h"
#include "runtime/shard/version_pool.h"
#include "training/optimizers/optimizer.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

class ShardCopies {
 public:
  struct Parts {
    Loop& loop;
    Transport& transport;
    Device& device;  // It makes the updates, so a copy lies between two of them.
    PeerId coordinator;
    Header header;                   // Messages to the coordinator have its job and incarnation.
    std::function<bool()> stepping;  // Bytes of steps wait for the node's links.
  };
  // A shard between two updates. Without values: it is not here, or an update is applied.
  struct Shard {
    uint64_t version = 0;
    std::shared_ptr<const std::vector<float>> values;
    std::shared_ptr<Optimizer> optimizer;
  };

  explicit ShardCopies(Parts parts) : parts_(std::move(parts)) {}
  ~ShardCopies() { parts_.loop.Cancel(timer_); }

  // Copies the shard, and reports it. The optimizer may be changed by work that the device gets
  // after this.
  void Keep(const wire::ShardCopyT& wanted, const Shard& shard);
  // Sends a piece, in place of one that still waits. kDataError: there is no such piece. Pieces of
  // forgotten copies are ignored.
  Status Send(const wire::ShardPieceT& piece);
  void Forget(uint32_t id);

 private:
  struct Copy {
    uint32_t id = 0;
    uint64_t version = 0;
    uint64_t optimizer_steps = 0;
    std::shared_ptr<const std::vector<float>> values;
    std::shared_ptr<std::vector<float>> state;
    bool made = false;  // The state is here.
  };

  void Report(uint32_t shard, uint32_t id, const Status& made);
  const Copy* Find(uint32_t shard, uint32_t id) const;
  void SendWaiting();
  void SendNow(const wire::ShardPieceT& piece, const Copy& copy);

  const Parts parts_;
  std::map<uint32_t, Copy> copies_;           // By shard.
  std::optional<wire::ShardPieceT> waiting_;  // The last piece that was asked for.
  Time waits_since_{};
  Duration waited_{};  // For the links, in this reading.
  bool sending_ = false;
  TimerId timer_ = 0;  // Looks again if the piece can leave; 0: none waits for the links.
  Alive alive_;
};

}  // namespace motley
