// SPDX-License-Identifier: Apache-2.0
// The server's parameters, version by version, and what the device does with them: the optimizer's
// update, and the audit that compares a decoded gradient with a direct sum. Loop thread only; what
// the device works on is shared with its work, so this object may go at any time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/aligned_memory.h"
#include "devices/device.h"
#include "runtime/alive.h"
#include "runtime/job.h"
#include "runtime/publisher.h"
#include "training/batch_schedule.h"
#include "training/data_source.h"

namespace motley {

// A version of the parameters and the optimizer's state that goes with it. Nobody changes either
// while they are held. The last holder lets go on the loop thread: what was held is then reused.
struct ModelSnapshot {
  ParameterCopy parameters;
  uint64_t optimizer_steps = 0;
  ParameterCopy optimizer_state;
};

class ServerModel {
 public:
  using Done = std::function<void(Status)>;
  using SnapshotDone = std::function<void(Result<ModelSnapshot>)>;

  // kInvalidArgument when model, optimizer and data do not fit together, kResource when the model
  // does not fit into memory; what the caller's trainer says to its first parameters.
  static Result<std::unique_ptr<ServerModel>> Create(Device& device, const JobOptions& options,
                                                     const DataSource& data,
                                                     const BatchSchedule& schedule);

  size_t parameter_count() const { return parameters_->size(); }
  const ParameterCopy& parameters() const { return parameters_; }  // Of the newest version.

  // Turns version `step` into the next one; `gradient` (VectorLength floats, the sum over the
  // batch, which weighs `weight`) is used up. kDataError when the new parameters are not finite:
  // training has diverged. kResource: no memory for them, and nothing was changed (`done` runs
  // before this returns). If this step is one of the sample and no other audit runs, it is then
  // compared with the direct sum (which is weighted as `approximate` says; null: it is exact),
  // unless a trainer of the caller's cannot form that here.
  void Commit(StepId step, std::shared_ptr<AlignedVector> gradient, double weight,
              std::shared_ptr<const ApproximateSum> approximate, Done done);

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

  // An audit that runs need not come to its end: the job has.
  void Hurry();

  // Something of the above is still on the device.
  bool busy() const { return applying_ || auditing_ || copying_; }
  // Runs whenever busy() may have become false.
  void SetIdle(std::function<void()> idle) { idle_ = std::move(idle); }

  double max_decode_error() const { return max_decode_error_; }
  uint64_t audited_steps() const { return audited_steps_; }
  // Runs for the first audit that fails.
  void SetAuditFailed(std::function<void(const Status&)> failed) {
    audit_failed_ = std::move(failed);
  }

 private:
  struct Shared;  // Gradient, optimizer, schedule: what the device's work uses.
  ServerModel(Device& device, const JobOptions& options, std::shared_ptr<Shared> shared,
              std::shared_ptr<std::vector<float>> first);
  Result<std::shared_ptr<std::vector<float>>> Spare();
  std::shared_ptr<std::vector<float>> UnusedCopy() const;
  void FreeSurplus();
  bool WantsAudit(StepId step) const;
  using DecodedCopy = Result<std::vector<float>>;  // The gradient of a step to be audited.
  void Audit(StepId step, const ParameterCopy& parameters,
             const std::shared_ptr<DecodedCopy>& decoded,
             std::shared_ptr<const ApproximateSum> approximate);
  void AuditFailed(StepId step, const Status& why);

  Device& device_;
  uint64_t seed_;
  double audit_fraction_;
  std::shared_ptr<Shared> shared_;
  ParameterCopy parameters_;
  std::vector<std::shared_ptr<std::vector<float>>> copies_;  // All that exist, for reuse.
  uint64_t most_copies_;
  uint32_t surplus_for_ = 0;  // Commits in a row that found more than one copy unused.
  std::function<bool()> crowded_;
  std::function<void()> idle_;
  bool applying_ = false;
  bool auditing_ = false;
  bool copying_ = false;
  bool spoiled_ = false;
  StepId first_step_ = 0;                           // Of this run.
  std::shared_ptr<std::vector<float>> state_copy_;  // Of the last snapshot, for the next.
  double max_decode_error_ = 0;
  uint64_t audited_steps_ = 0;
  bool audit_has_failed_ = false;
  std::function<void(const Status&)> audit_failed_;
  Alive alive_;
};

}  // namespace motley
