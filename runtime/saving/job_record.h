// SPDX-License-Identifier: Apache-2.0
// Collects what becomes a job's result. Plain bookkeeping. In a long job it keeps the losses and
// times of at least the newest kMostKept steps, so that neither memory nor checkpoints grow with
// the number of steps.
#pragma once

#include "base/time.h"
#include "runtime/job.h"

namespace motley {

class JobRecord {
 public:
  static constexpr size_t kMostKept = size_t{1} << 15;

  // `before` is the result of an earlier run of the same job after `first_step` steps.
  explicit JobRecord(uint32_t workers, uint64_t first_step = 0, const JobHistory& before = {});

  void Joined(WorkerId worker, const std::string& name) { result_.worker_names[worker] = name; }
  void Holds(WorkerId worker, uint64_t size_bytes) { result_.held_bytes[worker] = size_bytes; }
  // The step was opened for the first time, or again after a restart.
  void Opened(StepId step, Time now);
  // `approximate` is null if the step was exact.
  void Decoded(double batch_loss, double amplification, const ApproximateSum* approximate);
  void Applied(Time now, uint64_t staleness = 0);

  bool began() const { return started_; }  // A step was opened.
  double last_batch_loss() const { return result_.batch_loss.back(); }
  uint64_t steps() const { return result_.steps; }
  // The history so far, without the audits and without the steps of this run that are discarded.
  const JobHistory& history() const { return result_; }
  // The result so far. The caller adds status, parameters, audits and statistics.
  JobResult Take();

 private:
  JobResult result_;
  uint64_t opened_;  // Distinct steps, with those that earlier runs applied.
  bool started_ = false;
  Time first_start_{};
  Time last_commit_{};
};

}  // namespace motley
