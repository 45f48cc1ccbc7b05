// SPDX-License-Identifier: Apache-2.0
// Writes down what becomes a job's result. Plain bookkeeping. Of a long job it keeps the losses and
// times of the newest steps, kMostKept of them at least, so that neither memory nor checkpoints
// grow with the number of steps.
#pragma once

#include "base/time.h"
#include "runtime/job.h"

namespace motley {

class JobRecord {
 public:
  static constexpr size_t kMostKept = size_t{1} << 15;

  // `before`: what an earlier run of the same job had come to, in `first_step` steps.
  explicit JobRecord(uint32_t workers, uint64_t first_step = 0, const JobHistory& before = {});

  void Joined(WorkerId worker, const std::string& name) { result_.worker_names[worker] = name; }
  void Holds(WorkerId worker, uint64_t size_bytes) { result_.held_bytes[worker] = size_bytes; }
  // The first time, or again after a restart.
  void Opened(StepId step, Time now);
  // `approximate`: null where the step was exact.
  void Decoded(double batch_loss, double amplification, const ApproximateSum* approximate);
  void Applied(Time now);

  double last_batch_loss() const { return result_.batch_loss.back(); }
  uint64_t steps() const { return result_.steps; }
  // As it stands; audits are the caller's.
  JobHistory History() const;
  // The record as it stands; status, parameters, audits and statistics are the caller's.
  JobResult Take();

 private:
  JobResult result_;
  uint64_t opened_;  // Different steps, earlier runs' applied ones with them.
  uint64_t discarded_before_;
  double wall_before_;
  bool started_ = false;
  Time first_start_{};
  Time last_commit_{};
};

}  // namespace motley
