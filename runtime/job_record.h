// SPDX-License-Identifier: Apache-2.0
// Writes down what becomes a job's result. Plain bookkeeping.
#pragma once

#include "base/time.h"
#include "runtime/job.h"

namespace motley {

class JobRecord {
 public:
  explicit JobRecord(uint32_t workers);

  void Joined(WorkerId worker, const std::string& name) { result_.worker_names[worker] = name; }
  void Holds(WorkerId worker, uint64_t size_bytes) { result_.held_bytes[worker] = size_bytes; }
  // The first time, or again after a restart.
  void Opened(StepId step, Time now);
  void Decoded(double batch_loss, double amplification);
  void Applied(Time now);

  double last_batch_loss() const { return result_.batch_loss.back(); }
  // The record as it stands; status, parameters, audits and statistics are the caller's.
  JobResult Take();

 private:
  JobResult result_;
  uint64_t opened_ = 0;  // Different steps.
  Time first_start_{};
  Time last_commit_{};
};

}  // namespace motley
