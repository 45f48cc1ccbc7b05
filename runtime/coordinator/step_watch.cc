// SPDX-License-Identifier: Apache-2.0
#include "runtime/coordinator/step_watch.h"

#include <algorithm>
#include <utility>

namespace motley {
namespace {

constexpr uint32_t kQuarters = 4;

}  // namespace

StepWatch::StepWatch(Loop& loop, Duration limit, uint32_t workers, QueuedBytes queued,
                     std::function<void()> stuck)
    : loop_(loop),
      limit_(limit),
      queued_(std::move(queued)),
      stuck_(std::move(stuck)),
      computed_(workers) {}

void StepWatch::Opened(StepId step) {
  if (limit_ == Duration::zero() || !stuck_) return;
  if (step >= next_step_) {
    next_step_ = step + 1;
    std::fill(computed_.begin(), computed_.end(), 0);
    Progress();
  }
  if (timer_ == 0) Arm();
}

void StepWatch::Computed(WorkerId worker, uint64_t samples) {
  if (samples <= computed_[worker]) return;
  computed_[worker] = samples;
  Progress();
}

void StepWatch::Arm() {
  timer_ = loop_.After(limit_ / kQuarters, [this] { OnQuarter(); });
}

void StepWatch::OnQuarter() {
  const uint64_t queued = queued_();
  if (queued < std::exchange(queued_before_, queued)) Progress();
  if (++quiet_quarters_ <= kQuarters) return Arm();
  timer_ = 0;
  std::exchange(stuck_, nullptr)();
}

void StepWatch::Stop() {
  if (timer_ != 0) loop_.Cancel(std::exchange(timer_, 0));
}

}  // namespace motley
