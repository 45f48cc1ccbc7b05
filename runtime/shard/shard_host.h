// SPDX-License-Identifier: Apache-2.0
// The shards of a job that a node other than the coordinator holds: their values, their optimizer's
// state and the sums of the open update. The node owns a shard, or follows its owner.
//
//   owner      takes slices of answers from workers, sums them, reports what is whole, sends the
//              sum to the followers, applies it when the coordinator says so, and sends the new
//              values to all workers
//              It logs sketches of slices for audits (runtime/audit/), which the coordinator reads
//              after some steps
//              It keeps copies of versions that become checkpoints (ShardCopies)
//   follower   takes the owner's sum, applies it at the same word, and so has the same values; or,
//              if the values are all the state that there is, takes those that its worker reads
//
// A node keeps the version before the newest one until another update opens, because the
// coordinator may take the newest one back: if an owner is lost before a follower has it.
//
// Nothing here decides anything: the coordinator (runtime/shard/remote_shards.h) opens
// updates, counts vectors of lists, commits, and names another owner. The host is the receiver of
// connections that other workers make. Loop thread only, but for updates, which the device makes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "devices/device.h"
#include "runtime/alive.h"
#include "runtime/links/route.h"
#include "runtime/shard/publisher.h"
#include "runtime/shard/range_answers.h"
#include "runtime/shard/shard_copies.h"
#include "runtime/shard/version_pool.h"
#include "runtime/survey/link_load.h"
#include "training/optimizers/optimizer.h"
#include "transport/transport.h"
#include "transport/wire/control.h"

namespace motley {

class ShardHost final : public Receiver {
 public:
  struct Job {
    uint32_t id = 0;
    std::string token;
    uint32_t workers = 0;     // Nodes from this one on are shard servers, which read nothing.
    uint32_t places = 0;      // The number of workers and shard servers.
    uint32_t partitions = 0;  // k
    Route route;
    size_t slice_length = 0;                 // Floats.
    WireFormat wire = WireFormat::kFloat32;  // How answers, and parameters for workers, travel.
    uint64_t seed = 0;                       // For rounding.
  };
  struct Parts {
    Loop& loop;
    Transport& transport;
    Device& device;  // Shares the host's memory. Applies updates.
    PeerId coordinator;
    Header header;  // Messages to the coordinator have its job and incarnation.
    // The connection to another worker's host, for sums; 0: there is none.
    std::function<PeerId(WorkerId)> link;
    LinkLoad& load;  // Counts the frames that measure links.
    // The node cannot hold its shards: it should leave the job.
    std::function<void(const Status&)> failed;
  };

  ShardHost(Parts parts, Job job);
  ~ShardHost() override;

  // A message of the coordinator; false: it is not about shards. kDataError: it makes no sense
  // here.
  Result<bool> OnMessage(const wire::ControlT& control);
  // The worker has read all of a shard's new values. kResource: there is no memory for a copy.
  Status Read(uint32_t shard, uint64_t version, std::span<const float> values);
  // A slice of a shard's state from the coordinator.
  Result<std::span<std::byte>> BeginState(const Header& header);
  Status FinishState(const Header& header);

  // Connections from other workers.
  void OnConnected(PeerId peer, const PeerIdentity& identity) override;
  std::span<std::byte> OnPayload(PeerId peer, const Header& header) override;
  void OnPayloadDone(PeerId peer, const Header& header, bool discarded) override;
  void OnLost(PeerId peer, const Status& why) override;

 private:
  struct Held;  // A shard that this node owns or follows.
  struct Peer {
    bool joined = false;
    bool cut = false;  // It is being sent away.
    WorkerId worker = 0;
    Incarnation incarnation = 0;
    Bytes control;
    RangeAnswers::Slice slice;
    // The sum that a frame is arriving in. It may be given up meanwhile.
    std::shared_ptr<AlignedVector> sum;
    std::vector<std::pair<uint32_t, std::unique_ptr<Publisher::Reader>>> readers;  // By shard.
  };

  Held* Find(uint32_t shard);
  template <typename Message>
  void Report(const Message& message);

  // The coordinator's messages.
  Status Hold(const wire::ShardHoldT& hold);
  Status Open(const wire::ShardOpenT& open);
  Status Add(const wire::ShardAddT& add);
  Status EndSums(const wire::ShardFinishT& finish);
  Status Apply(const wire::ShardApplyT& apply);
  Status Fetch(const wire::ShardFetchT& fetch);
  void Gone(const wire::ShardGoneT& gone);

  void Begin(Held& held);
  void Ready(Held& held, bool handed_over = false);
  void Serve(Held& held, Peer& peer, PeerId id, bool skip_newest = false);
  void PublishTo(Peer& peer, Held& held);
  RangeAnswers::Hooks HooksOf(uint32_t shard);
  void Summed(Held& held, const ApproximateDecoding* best);
  void SendSum(Held& held);
  Status FinishSum(Held& held, const Header& header);
  Status ApplyTo(Held& held, const wire::ShardApplyT& apply);
  void OnApplied(uint32_t shard, StepId step, const std::shared_ptr<std::vector<float>>& next,
                 const Status& status);

  void OnJoin(PeerId id, Peer& peer);
  void Cut(PeerId peer, const Status& why);

  Parts parts_;
  Job job_;
  SpareSlices spare_;  // All shards use it.
  std::map<uint32_t, std::unique_ptr<Held>> held_;
  std::map<PeerId, std::unique_ptr<Peer>> peers_;
  std::map<WorkerId, Incarnation> gone_;  // The last one of each worker that is gone.
  std::shared_ptr<const CodeForm> form_;  // The last code.
  AnswerLog log_;  // It keeps what the owned shards get, if the coordinator wants that.
  ShardCopies copies_;
  // The open update, for shards that come while it is open.
  std::optional<wire::ShardOpenT> open_;
  Alive alive_;
};

// The optimizer's settings as numbers, and back. kInvalidArgument: there is no such optimizer, or
// it has other settings.
void SetOptimizer(wire::ShardHoldT& hold, const OptimizerOptions& options);
Result<OptimizerOptions> OptimizerOf(const wire::ShardHoldT& hold);

}  // namespace motley
