// SPDX-License-Identifier: Apache-2.0
// The server's parameters, version by version, and the optimizer's update of them on the device.
// Loop thread only. Work on the device shares what it uses, so this object may be destroyed at any
// time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/aligned_memory.h"
#include "data/data_source.h"
#include "devices/device.h"
#include "runtime/alive.h"
#include "runtime/job.h"
#include "runtime/shard/job_gradient.h"
#include "runtime/shard/publisher.h"

namespace motley {

// A version of the parameters with the optimizer's state. Nobody changes either while it is held.
// The last holder must release it on the loop thread, because its memory is then reused.
struct ModelSnapshot {
  ParameterCopy parameters;
  uint64_t optimizer_steps = 0;
  ParameterCopy optimizer_state;
  ValidationState validation;  // The caller fills it in, as of this version.
};

class ServerModel {
 public:
  using Done = std::function<void(Status)>;
  using SnapshotDone = std::function<void(Result<ModelSnapshot>)>;

  // kInvalidArgument when model, optimizer and data do not fit together. kResource when the model
  // does not fit into memory. Also returns errors of the caller's trainer about its first
  // parameters.
  static Result<std::unique_ptr<ServerModel>> Create(Device& device, const JobOptions& options,
                                                     const DataSource& data);

  size_t parameter_count() const { return parameters_->size(); }
  const ParameterCopy& parameters() const { return parameters_; }  // The newest version.

  // Turns version `step` into the next one. `gradient` (VectorLength floats, the sum over a batch
  // of weight `weight`) is overwritten. If `copy` is not null, it first receives a copy of the
  // gradient. kDataError: the new parameters are not finite, because training has diverged.
  // kResource: there is no memory for them, and nothing was changed (`done` runs before this
  // returns).
  using DecodedCopy = Result<std::vector<float>>;
  void Commit(StepId step, std::shared_ptr<AlignedVector> gradient, double weight,
              std::shared_ptr<DecodedCopy> copy, Done done);
  // Sets the factor for updates that are committed from now on (Optimizer::Apply).
  void SetRateFactor(double factor) { rate_factor_ = factor; }

  // Takes the newest version and its optimizer's state, which the device copies before the next
  // update. This one pass over memory is all that delays a step. Only one may be taken at a time,
  // and none while an update is in flight. If there is nothing to copy, `done` runs before this
  // returns: kResource without memory for the copy, kDataError once spoiled.
  void TakeSnapshot(SnapshotDone done);
  // An update failed half done. The optimizer is ahead of the parameters, so its state is useless.
  bool spoiled() const { return spoiled_; }

  // `crowded` runs when another version needs room and no more memory may be taken. It makes a
  // reader release an older version, or returns false.
  void SetCrowded(std::function<bool()> crowded) { crowded_ = std::move(crowded); }

  // An update or a copy is on the device.
  bool busy() const { return applying_ || copying_; }
  // Runs whenever busy() may have become false.
  void SetIdle(std::function<void()> idle) { idle_ = std::move(idle); }

  // The gradient for audits. Only their thread forms sums with it.
  std::shared_ptr<JobGradient> gradient() const;

 private:
  struct Shared;  // Gradient and optimizer.
  ServerModel(Device& device, const JobOptions& options, std::shared_ptr<Shared> shared,
              std::shared_ptr<std::vector<float>> first);
  Result<std::shared_ptr<std::vector<float>>> Spare();
  std::shared_ptr<std::vector<float>> UnusedCopy() const;
  void FreeSurplus();

  Device& device_;
  std::shared_ptr<Shared> shared_;
  ParameterCopy parameters_;
  std::vector<std::shared_ptr<std::vector<float>>> copies_;  // All existing copies, for reuse.
  uint64_t most_copies_;
  uint32_t surplus_for_ = 0;  // Commits in a row that found more than one copy unused.
  std::function<bool()> crowded_;
  std::function<void()> idle_;
  double rate_factor_ = 1;
  bool applying_ = false;
  bool copying_ = false;
  bool spoiled_ = false;
  std::shared_ptr<std::vector<float>> state_copy_;  // The last snapshot's, reused for the next.
  Alive alive_;
};

}  // namespace motley
