// SPDX-License-Identifier: Apache-2.0
#include "runtime/saving/job_record.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

// Drops the older half of more than 2 kMostKept values, and returns how many were dropped.
size_t KeepNewest(std::vector<double>& values) {
  if (values.size() < 2 * JobRecord::kMostKept) return 0;
  const size_t dropped = values.size() - JobRecord::kMostKept;
  values.erase(values.begin(), values.begin() + static_cast<ptrdiff_t>(dropped));
  return dropped;
}

}  // namespace

JobRecord::JobRecord(uint32_t workers, uint64_t first_step, const JobHistory& before)
    : result_{before}, opened_(first_step) {
  result_.worker_names.resize(workers);
  result_.held_bytes.resize(workers);
  result_.steps = result_.first_step = first_step;
  result_.seconds_before = before.wall_seconds;
}

void JobRecord::Opened(StepId step, Time now) {
  if (step < opened_) return;
  if (!std::exchange(started_, true)) first_start_ = last_commit_ = now;
  opened_ = step + 1;
}

void JobRecord::Decoded(double batch_loss, double amplification,
                        const ApproximateSum* approximate) {
  result_.batch_loss.push_back(batch_loss);
  result_.first_loss += KeepNewest(result_.batch_loss);
  result_.max_amplification = std::max(result_.max_amplification, amplification);
  if (approximate == nullptr) return;
  ApproximateRecord& record = result_.approximate;
  ++record.steps;
  record.error_sum += approximate->error;
  record.max_error = std::max(record.max_error, approximate->error);
}

void JobRecord::Applied(Time now, uint64_t staleness) {
  const double seconds = ToSeconds(now - last_commit_);
  if (seconds > result_.slowest_seconds) {
    result_.slowest_seconds = seconds;
    result_.slowest_step = result_.steps;
  }
  ++result_.steps;
  ++result_.staleness.updates;
  result_.staleness.sum += staleness;
  result_.staleness.max = std::max(result_.staleness.max, staleness);
  result_.step_seconds.push_back(seconds);
  KeepNewest(result_.step_seconds);
  last_commit_ = now;
  result_.wall_seconds = result_.seconds_before + ToSeconds(now - first_start_);
}

JobResult JobRecord::Take() {
  result_.discarded_steps += opened_ - result_.steps;
  return std::move(result_);
}

}  // namespace motley
