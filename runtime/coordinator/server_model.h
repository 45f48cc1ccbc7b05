// SPDX-License-Identifier: Apache-2.0
// The server's parameters, version by version, and what the device does with them: the optimizer's
// update. Loop thread only; what the device works on is shared with its work, so this object may go
// at any time.
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

// A version of the parameters and the optimizer's state that goes with it. Nobody changes either
// while they are held. The last holder lets go on the loop thread: what was held is then reused.
struct ModelSnapshot {
  ParameterCopy parameters;
  uint64_t optimizer_steps = 0;
  ParameterCopy optimizer_state;
  ValidationState validation;  // The caller's, as of this version.
};

class ServerModel {
 public:
  using Done = std::function<void(Status)>;
  using SnapshotDone = std::function<void(Result<ModelSnapshot>)>;

  // kInvalidArgument when model, optimizer and data do not fit together, kResource when the model
  // does not fit into memory; what the caller's trainer says to its first parameters.
  static Result<std::unique_ptr<ServerModel>> Create(Device& device, const JobOptions& options,
                                                     const DataSource& data);

  size_t parameter_count() const { return parameters_->size(); }
  const ParameterCopy& parameters() const { return parameters_; }  // Of the newest version.

  // Turns version `step` into the next one; `gradient` (VectorLength floats, the sum over the
  // batch, which weighs `weight`) is used up. kDataError when the new parameters are not finite:
  // training has diverged. kResource: no memory for them, and nothing was changed (`done` runs
  // before this returns). A copy of the gradient goes to `copy`, if that is not null, before it is
  // used up.
  using DecodedCopy = Result<std::vector<float>>;
  void Commit(StepId step, std::shared_ptr<AlignedVector> gradient, double weight,
              std::shared_ptr<DecodedCopy> copy, Done done);
  // Of the updates that are committed from now on (Optimizer::Apply).
  void SetRateFactor(double factor) { rate_factor_ = factor; }

  // The newest version and its optimizer's state, which is copied on the device before the next
  // update: one pass over memory, and nothing else, holds a step up. One at a time, and not while
  // an update is in flight. `done` runs before this returns when there is nothing to copy:
  // kResource without the memory for it, kDataError once spoiled.
  void TakeSnapshot(SnapshotDone done);
  // An update failed half done: the optimizer is ahead of the parameters, and of use to nobody.
  bool spoiled() const { return spoiled_; }

  // Runs when another version needs room and none may be taken: makes somebody let go of an older
  // one, or returns false.
  void SetCrowded(std::function<bool()> crowded) { crowded_ = std::move(crowded); }

  // Something of the above is still on the device.
  bool busy() const { return applying_ || copying_; }
  // Runs whenever busy() may have become false.
  void SetIdle(std::function<void()> idle) { idle_ = std::move(idle); }

  // For audits, whose thread alone forms sums with it.
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
  std::vector<std::shared_ptr<std::vector<float>>> copies_;  // All that exist, for reuse.
  uint64_t most_copies_;
  uint32_t surplus_for_ = 0;  // Commits in a row that found more than one copy unused.
  std::function<bool()> crowded_;
  std::function<void()> idle_;
  double rate_factor_ = 1;
  bool applying_ = false;
  bool copying_ = false;
  bool spoiled_ = false;
  std::shared_ptr<std::vector<float>> state_copy_;  // Of the last snapshot, for the next.
  Alive alive_;
};

}  // namespace motley
