// SPDX-License-Identifier: Apache-2.0
#include "runtime/job_record.h"

#include <algorithm>
#include <utility>

namespace motley {

JobRecord::JobRecord(uint32_t workers) {
  result_.worker_names.resize(workers);
  result_.held_bytes.resize(workers);
}

void JobRecord::Opened(StepId step, Time now) {
  if (step < opened_) return;
  if (opened_ == 0) first_start_ = last_commit_ = now;
  opened_ = step + 1;
}

void JobRecord::Decoded(double batch_loss, double amplification) {
  result_.batch_loss.push_back(batch_loss);
  result_.max_amplification = std::max(result_.max_amplification, amplification);
}

void JobRecord::Applied(Time now) {
  ++result_.steps;
  result_.step_seconds.push_back(ToSeconds(now - last_commit_));
  last_commit_ = now;
  result_.wall_seconds = ToSeconds(now - first_start_);
}

JobResult JobRecord::Take() {
  result_.discarded_steps = opened_ - result_.steps;
  return std::move(result_);
}

}  // namespace motley
