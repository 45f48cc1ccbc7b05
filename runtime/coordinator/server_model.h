// SPDX-License-Identifier: Apache-2.0
// The server's parameters, version by version, and their update on the device: each shard's range
// by its own optimizer. Loop thread only. Work on the device shares what it uses, so this object
// may be destroyed at any time.
//
// If workers may hold the shards, the model first has only what the job starts with. It is then
// either kept here (KeepHere) or given to the workers (GiveAway), and with the workers the model
// holds a version only as long as the server needs it (Read, Forget).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/alive.h"
#include "runtime/audit/audit.h"
#include "runtime/audit/job_gradient.h"
#include "runtime/job.h"
#include "runtime/links/route.h"
#include "runtime/saving/saved_job.h"
#include "runtime/shard/newest_version.h"
#include "runtime/shard/parameter_shard.h"
#include "runtime/shard/publisher.h"
#include "runtime/shard/remote_shards.h"
#include "runtime/shard/update_sum.h"
#include "runtime/shard/version_pool.h"
#include "transport/transport.h"

namespace motley {

// The end of a job whose parameters are no longer finite after this step.
Status Diverged(StepId step);

class ServerModel {
 public:
  using Done = std::function<void(Status)>;

  // kInvalidArgument when model, optimizer and data do not fit together. kResource when the model
  // does not fit into memory. Also returns errors of the caller's trainer about its first
  // parameters.
  static Result<std::unique_ptr<ServerModel>> Create(Device& device, Transport& transport,
                                                     const JobOptions& options,
                                                     const DataSource& data);

  const Route& route() const { return route_; }
  // The shards of this process, in the order of their ranges.
  const std::vector<std::unique_ptr<ParameterShard>>& shards() const { return shards_; }
  // All shards stay here: makes the memory of their sums, states and versions. Create does it for
  // jobs whose workers hold none. kResource: there is no memory for them.
  Status KeepHere() { return Keep(nullptr); }
  // A sum for an update that opens. It serves another update once nobody else holds it. kResource:
  // there is no memory for one more.
  Result<std::shared_ptr<UpdateSum>> TakeSum() { return sums_.Take(); }
  size_t parameter_count() const { return gradient_->parameter_count(); }
  // The newest version, and its number: the updates that were applied so far. With shards at
  // workers it is the last version that was here, and empty if it is not here any more.
  const ParameterCopy& parameters() const { return newest_->values(); }
  uint64_t version() const { return newest_->number(); }

  // Turns the newest version into the next one with the sum of this step, which is overwritten. If
  // `copy` is not null, it first receives a copy of the sum. kDataError: the new parameters are not
  // finite, because training has diverged. kResource: there is no memory for them, and nothing was
  // changed
  // (`done` runs before this returns).
  struct Summed {
    std::shared_ptr<UpdateSum> values;
    ParameterCopy computed_with;  // Contribution::computed_with; null: none.
  };
  void Commit(StepId step, Summed sum, const Contribution& from, std::shared_ptr<DecodedCopy> copy,
              Done done);

  // Takes the newest version and its optimizer's state, which the device copies before the next
  // update. This one pass over memory is all that delays a step. Only one may be taken at a time,
  // and none while an update is in flight. If there is nothing to copy, `done` runs before this
  // returns: kResource without memory for the copy, kDataError once spoiled.
  void TakeSnapshot(SnapshotDone done);
  // Runs `show` on the device with the newest version, a copy of the optimizer's state and these
  // losses of the last updates. No update may be in flight.
  void Show(std::function<Status(const ShownVersion&)> show, std::vector<double> losses, Done done);
  // An update failed half done. The optimizer is ahead of the parameters, so its state is useless.
  bool spoiled() const { return spoiled_; }
  void Spoil() { spoiled_ = true; }  // The same for shards that workers hold.

  VersionPool& versions() { return versions_; }

  // With shards that workers hold: what they start with, and what was read back from them.
  // TakeSnapshot and parameters() then give the last version that was read. The model keeps it
  // until Forget.
  ShardState GiveAway() { return *std::exchange(elsewhere_, std::nullopt); }
  void Read(ShardState state);
  void Forget();
  std::span<const float> StateRead() const {  // What was read with the version; empty: nothing.
    if (!elsewhere_ || elsewhere_->arrays == nullptr) return {};
    return *elsewhere_->arrays;
  }
  bool Has(uint64_t version, bool state) const {
    const bool here = this->version() == version && !parameters()->empty();
    return here && (!state || !elsewhere_ || elsewhere_->arrays != nullptr);
  }

  // An update or a copy is on the device.
  bool busy() const { return applying_ || copying_; }
  // Runs whenever busy() may have become false.
  void SetIdle(std::function<void()> idle) { idle_ = std::move(idle); }

  // The gradient for audits. Only their thread forms sums with it.
  std::shared_ptr<JobGradient> gradient() const { return gradient_; }

 private:
  ServerModel(Device& device, Transport& transport, const JobOptions& options, Route route,
              std::shared_ptr<JobGradient> gradient, ShardState start);
  Status Keep(std::shared_ptr<std::vector<float>> first);
  Status RestoreOptimizers();
  struct Work;
  std::vector<std::shared_ptr<Optimizer>> Optimizers() const;
  size_t StateSize() const;  // Floats of the optimizers' state.

  Device& device_;
  const Route route_;
  std::shared_ptr<JobGradient> gradient_;
  SumPool sums_;
  std::vector<std::unique_ptr<ParameterShard>> shards_;
  const std::shared_ptr<NewestVersion> newest_;
  VersionPool versions_;
  std::function<void()> idle_;
  bool applying_ = false;
  bool copying_ = false;
  bool spoiled_ = false;
  // What the shards start with, or the last version read from workers.
  std::optional<ShardState> elsewhere_;
  std::shared_ptr<std::vector<float>> state_copy_;  // The last snapshot's, reused for the next.
  Alive alive_;
};

}  // namespace motley
