// SPDX-License-Identifier: Apache-2.0
// A shard that a ShardHost owns or follows. Only the host's sources include this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "runtime/links/messages.h"
#include "runtime/shard/shard_host.h"

namespace motley {

struct ShardHost::Held {
  Held(uint32_t number, const Job& job, Transport& transport, Device& device, bool keep,
       SpareSlices& spare, RangeAnswers::Hooks hooks)
      : shard(number),
        count(job.route.parameters(number)),
        // All answers may come before the update is opened here. In one attempt a worker gives at
        // most a row or vector for each partition.
        answers({job.route, number, job.slice_length, job.wire, keep,
                 job.partitions * job.route.size(number)},
                spare, device.parallel(), /*home=*/{}, std::move(hooks)),
        publisher(
            transport, job.route.Parameters(job.slice_length, job.wire), number,
            [this](uint64_t asked) { return asked == version && !in_place ? parameters : nullptr; },
            job.seed) {}

  // A follower's copy of the owner's sum.
  struct Sum {
    StepId step = 0;
    uint32_t attempt = 0;  // 0: none came yet.
    std::shared_ptr<AlignedVector> values = std::make_shared<AlignedVector>();
    SlicesCame came;
    bool whole = false;
  };

  // The whole sum of an attempt at an update; null: it is not here. A follower that has become the
  // owner still has the sum of its predecessor.
  std::shared_ptr<AlignedVector> SumOf(StepId step, uint32_t attempt) {
    if (sum.whole && sum.step == step && sum.attempt == attempt) return sum.values;
    const bool own = !answers.open() && answers.step() == step && answers.attempt() == attempt;
    return own && attempt > 0 ? answers.values() : nullptr;
  }

  // Goes back to this version if it is newer. A follower that has read nothing before reads again.
  void RollBack(uint64_t to) {
    if (version <= to) return;
    if (from_reading && before == nullptr) {
      ready = false;
      return;
    }
    MOTLEY_ASSERT(version == to + 1 && before != nullptr);
    version = to;
    parameters = std::exchange(before, nullptr);
    optimizer->SetSteps(steps_before);
  }

  // The answer to ShardHold.
  wire::ShardHeldT AsHeld() const {
    wire::ShardHeldT held;
    held.shard = shard;
    held.epoch = epoch;
    held.rollbacks = rollbacks;
    held.comes = !ready;
    return held;
  }

  // The newest version, if no update is applied to it.
  ShardCopies::Shard AsVersion() const {
    if (!ready || applying) return {};
    return {version, parameters, optimizer};
  }

  // What the node's log has of this shard, and the sketch of its sum. `begin` is where its range
  // begins.
  wire::ShardLogT AsLog(const AnswerLog& log, const std::optional<wire::ShardOpenT>& open,
                        size_t begin, uint32_t id);

  const uint32_t shard;
  const size_t count;  // Parameters.
  uint32_t epoch = 0;
  bool owner = false;
  bool keep_rows = false;     // Sums end when the coordinator says so.
  bool reads = false;         // Followers read the new values, and get no sums.
  bool from_reading = false;  // Its first values are those that its worker reads.
  uint32_t rollbacks = 0;     // As in the last ShardHold.
  bool ready = false;         // Values and state are here.
  std::vector<WorkerId> followers;
  std::shared_ptr<Optimizer> optimizer;
  uint64_t optimizer_steps = 0;
  uint64_t steps_before = 0;  // The optimizer's steps when it made `before`.
  size_t state_floats = 0;    // The part of the state that comes: all of it, or 0.
  size_t came = 0;            // Floats of values and state.
  uint64_t version = 0;
  VersionPool::Version parameters;
  VersionPool::Version before;  // The version before, until no rollback can want it. Null: none.
  std::unique_ptr<VersionPool> versions;
  RangeAnswers answers;
  Publisher publisher;
  Sum sum;
  bool applying = false;
  bool in_place = false;  // The update that is applied overwrites the newest values.
  std::optional<wire::ShardHoldT> waiting;  // A rollback that came while the device applies.
};

// The log starts with an update. This precedes the opening of the shards' sums, which take slices
// that came early.
void OpenLog(const ShardHost::Job& job, const wire::ShardOpenT& open,
             std::shared_ptr<const CodeForm> form, AnswerLog& log);

template <typename Message>
void ShardHost::Report(const Message& message) {
  SendControl(parts_.transport, parts_.coordinator, parts_.header, message);
}

}  // namespace motley
