// SPDX-License-Identifier: Apache-2.0
#include "api/reports/live_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace motley {

void LiveMetrics::OnWorkerJoined(WorkerId worker, const std::string& name) {
  workers_.insert(worker);
  OfWorker& of = of_worker_[worker];
  of.name = name;
  of.values.name = of.name.c_str();
  of.values.state = MOTLEY_WORKER_UP;
  values_.workers = static_cast<uint32_t>(workers_.size());
}

void LiveMetrics::OnWorkerLost(WorkerId worker, const Status& why) {
  workers_.erase(worker);
  const bool left = why.code() == StatusCode::kCancelled;
  of_worker_[worker].values.state = left ? MOTLEY_WORKER_LEFT : MOTLEY_WORKER_LOST;
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

void LiveMetrics::Expect(uint64_t steps, uint64_t steps_per_epoch, uint32_t workers,
                         bool ends_early) {
  values_.ends_early = ends_early ? 1 : 0;
  values_.steps_wanted = steps;
  values_.steps_per_epoch = steps_per_epoch;
  values_.workers_wanted = workers;
}

void LiveMetrics::OnRowArrived(StepId /*step*/, RowId /*row*/, WorkerId worker, Time /*now*/) {
  ++of_worker_[worker].values.in_time;
}

void LiveMetrics::OnVectorArrived(StepId /*step*/, WorkerId worker,
                                  std::span<const PartitionId> /*partitions*/, Time /*now*/) {
  ++of_worker_[worker].values.in_time;
}

void LiveMetrics::OnComputed(StepId step, WorkerId worker, uint64_t samples, Duration /*compute*/,
                             bool so_far, Time /*now*/) {
  OfWorker& of = of_worker_[worker];
  if (std::exchange(of.step, step) != step) of.in_step = 0;
  const uint64_t before = of.in_step;
  of.in_step = so_far ? std::max(before, samples) : before + samples;
  of.values.samples += of.in_step - before;
}

// A step that ends takes back what it still waits for.
void LiveMetrics::OnCommand(const Command& command, Time /*now*/) {
  if (const auto* cancel = std::get_if<CancelWork>(&command)) {
    ++of_worker_[cancel->worker].values.late;
  }
}

Result<motley_worker_metrics> LiveMetrics::Worker(WorkerId worker) const {
  const auto found = of_worker_.find(worker);
  if (found != of_worker_.end() && found->second.values.state != 0) return found->second.values;
  return Status::NotFound(fmt::format("no worker {} has joined yet", worker));
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
