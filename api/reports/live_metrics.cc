// SPDX-License-Identifier: Apache-2.0
#include "api/reports/live_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace motley {

void LiveMetrics::OnEvent(const JobEvent& event) {
  const std::lock_guard lock(mutex_);
  Handle(event, [this](const auto& each) -> decltype(On(each)) { On(each); });
}

void LiveMetrics::SetLossUnit(double unit) {
  const std::lock_guard lock(mutex_);
  loss_unit_ = unit;
}

motley_metrics LiveMetrics::values() const {
  const std::lock_guard lock(mutex_);
  return values_;
}

double LiveMetrics::decoded_loss() const {
  const std::lock_guard lock(mutex_);
  return decoded_loss_ * loss_unit_;
}

void LiveMetrics::On(const event::StepDecoded& event) {
  decoded_loss_ = event.sum.weight > 0 ? event.sum.loss / event.sum.weight : 0;
}

void LiveMetrics::On(const event::WorkerJoined& event) {
  workers_.insert(event.worker);
  OfWorker& of = of_worker_[event.worker];
  of.name = event.name;
  of.values.name = of.name.c_str();
  of.values.state = MOTLEY_WORKER_UP;
  of.owes_answer = of.quiet = false;
  values_.workers = static_cast<uint32_t>(workers_.size());
}

void LiveMetrics::On(const event::WorkerLost& event) {
  workers_.erase(event.worker);
  const bool left = event.why.code() == StatusCode::kCancelled;
  of_worker_[event.worker].values.state = left ? MOTLEY_WORKER_LEFT : MOTLEY_WORKER_LOST;
  values_.workers = static_cast<uint32_t>(workers_.size());
}

void LiveMetrics::On(const event::Noticed& event) {
  const auto mark = [this](WorkerId worker, bool OfWorker::*silence, bool silent) {
    OfWorker& of = of_worker_[worker];
    of.*silence = silent;
    uint32_t& state = of.values.state;
    if (state != MOTLEY_WORKER_UP && state != MOTLEY_WORKER_LATE) return;
    state = of.owes_answer || of.quiet ? MOTLEY_WORKER_LATE : MOTLEY_WORKER_UP;
  };
  if (const auto* quiet = std::get_if<notice::Quiet>(&event.notice)) {
    mark(quiet->worker, &OfWorker::quiet, true);
  } else if (const auto* back = std::get_if<notice::Back>(&event.notice)) {
    mark(back->worker, &OfWorker::quiet, false);
  } else if (const auto* scheduled = std::get_if<Notice>(&event.notice)) {
    if (const auto* silent = std::get_if<notice::Silent>(scheduled)) {
      mark(silent->worker, &OfWorker::owes_answer, true);
    } else if (const auto* answers = std::get_if<notice::AnswersAgain>(scheduled)) {
      mark(answers->worker, &OfWorker::owes_answer, false);
    }
  }
}

void LiveMetrics::On(const event::StepOpened& event) {
  if (!started_) started_ = event.now;
}

void LiveMetrics::On(const event::StepApproximated& event) {
  ++approximate_.steps;
  approximate_.error_sum += event.sum.error;
  approximate_.max_error = std::max(approximate_.max_error, event.sum.error);
  Tell(approximate_);
}

void LiveMetrics::Tell(const ApproximateRecord& record) {
  values_.approximate_steps = record.steps;
  values_.approximate_error = record.mean_error();
  values_.max_approximate_error = record.max_error;
}

void LiveMetrics::On(const event::StepApplied& event) {
  values_.steps = event.step + 1;
  values_.batch_loss = event.batch_loss * loss_unit_;
  values_.wall_seconds = ToSeconds(event.now - *started_);
}

void LiveMetrics::Expect(uint64_t steps, uint64_t steps_per_epoch, uint32_t workers,
                         bool ends_early) {
  const std::lock_guard lock(mutex_);
  values_.ends_early = ends_early ? 1 : 0;
  values_.steps_wanted = steps;
  values_.steps_per_epoch = steps_per_epoch;
  values_.workers_wanted = workers;
}

void LiveMetrics::On(const event::RowArrived& event) { ++of_worker_[event.worker].values.in_time; }

void LiveMetrics::On(const event::VectorArrived& event) {
  ++of_worker_[event.worker].values.in_time;
}

void LiveMetrics::On(const event::WorkComputed& event) {
  OfWorker& of = of_worker_[event.worker];
  if (std::exchange(of.step, event.step) != event.step) of.in_step = 0;
  const uint64_t before = of.in_step;
  of.in_step = event.so_far ? std::max(before, event.samples) : before + event.samples;
  of.values.samples += of.in_step - before;
}

// A step that ends takes back what it still waits for.
void LiveMetrics::On(const event::CommandGiven& event) {
  const auto* cancel = std::get_if<CancelWork>(&event.command);
  if (cancel != nullptr && !cancel->held) {
    ++of_worker_[cancel->worker].values.late;
  }
}

Result<motley_worker_metrics> LiveMetrics::Worker(WorkerId worker) const {
  const std::lock_guard lock(mutex_);
  const auto found = of_worker_.find(worker);
  if (found != of_worker_.end() && found->second.values.state != 0) return found->second.values;
  return Status::NotFound(fmt::format("no worker {} has joined yet", worker));
}

void LiveMetrics::Finish(const JobResult& result) {
  const std::lock_guard lock(mutex_);
  values_.steps = result.steps;
  values_.discarded_steps = result.discarded_steps;
  values_.wall_seconds = result.wall_seconds;
  values_.max_decode_error = result.max_decode_error;
  Tell(result.approximate);
  values_.checkpoint_step = result.checkpoint_step;
}

}  // namespace motley
