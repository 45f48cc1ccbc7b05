// SPDX-License-Identifier: Apache-2.0
#include "api/live_metrics.h"

#include <algorithm>

namespace motley {

void LiveMetrics::OnWorkerJoined(WorkerId worker, const std::string& /*name*/) {
  workers_.insert(worker);
  values_.workers = static_cast<uint32_t>(workers_.size());
}

void LiveMetrics::OnWorkerLost(WorkerId worker, const Status& /*why*/) {
  workers_.erase(worker);
  values_.workers = static_cast<uint32_t>(workers_.size());
}

void LiveMetrics::OnStepOpened(StepId /*step*/, const CodeForm& /*code*/, Time now) {
  if (!started_) started_ = now;
}

void LiveMetrics::OnStepApproximated(StepId /*step*/, const ApproximateSum& sum, Time /*now*/) {
  ++approximate_.steps;
  approximate_.error_sum += sum.error;
  approximate_.max_error = std::max(approximate_.max_error, sum.error);
  Tell(approximate_);
}

void LiveMetrics::Tell(const ApproximateRecord& record) {
  values_.approximate_steps = record.steps;
  values_.approximate_error = record.mean_error();
  values_.max_approximate_error = record.max_error;
}

void LiveMetrics::OnStepApplied(StepId step, std::span<const float> /*parameters*/,
                                double batch_loss, Time now) {
  values_.steps = step + 1;
  values_.batch_loss = batch_loss * loss_unit_;
  values_.wall_seconds = ToSeconds(now - *started_);
}

void LiveMetrics::Expect(uint64_t steps, uint64_t steps_per_epoch, uint32_t workers) {
  values_.steps_wanted = steps;
  values_.steps_per_epoch = steps_per_epoch;
  values_.workers_wanted = workers;
}

void LiveMetrics::Finish(const JobResult& result) {
  values_.steps = result.steps;
  values_.discarded_steps = result.discarded_steps;
  values_.wall_seconds = result.wall_seconds;
  values_.max_decode_error = result.max_decode_error;
  Tell(result.approximate);
  values_.checkpoint_step = result.checkpoint_step;
}

}  // namespace motley
