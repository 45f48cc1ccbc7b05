// SPDX-License-Identifier: Apache-2.0
#include "api/loop/job_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace motley {

Status CheckRoom(size_t room, size_t parameters) {
  if (room == parameters) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("room for {} parameters, of which there are {}", room, parameters));
}

void JobControl::Change(const std::function<void(Guidance&)>& change) {
  const std::lock_guard lock(mutex_);
  change(guidance_);
  if (loop_ == nullptr) return;
  loop_->Post([this] {
    if (changed_) changed_();
  });
}

void JobControl::SetGate(uint64_t steps) {
  Change([steps](Guidance& guidance) { guidance.allowed_steps = steps; });
}

Status JobControl::AllowSteps(uint64_t steps) {
  if (guidance().allowed_steps == Guidance().allowed_steps) {
    return Status::Conflict("the job has no gate: create it with the option `allowed_steps`");
  }
  Change([steps](Guidance& guidance) {
    // One less than no gate at all.
    guidance.allowed_steps = std::max(guidance.allowed_steps, std::min(steps, UINT64_MAX - 1));
  });
  return Status::Ok();
}

void JobControl::SetRate(double learning_rate) {
  Change([learning_rate](Guidance& guidance) { guidance.learning_rate = learning_rate; });
}

void JobControl::Finish() {
  Change([](Guidance& guidance) { guidance.finish = true; });
}

Guidance JobControl::guidance() const {
  const std::lock_guard lock(mutex_);
  return guidance_;
}

Result<uint64_t> JobControl::CopyNewest(std::span<float> parameters) {
  NewestVersion::Copy newest = newest_->Get();
  const size_t count = newest.values->size();
  if (count == 0) {
    return Status::Unavailable(
        "there is no version of the parameters here: training has not begun, or workers hold the "
        "newest one (`reduce`)");
  }
  MOTLEY_RETURN_IF_ERROR(CheckRoom(parameters.size(), count));
  std::copy(newest.values->begin(), newest.values->end(), parameters.begin());
  const uint64_t number = newest.number;
  // The memory is reused once the server finds that it alone holds the version. So the loop's
  // thread releases it.
  const std::lock_guard lock(mutex_);
  if (loop_ != nullptr) loop_->Post([values = std::move(newest.values)] {});
  return number;
}

void JobControl::Attach(Loop& loop, std::function<void()> changed) {
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
  loop_ = &loop;
}

void JobControl::Leave() {
  const std::lock_guard lock(mutex_);
  loop_ = nullptr;
  changed_ = nullptr;
}

}  // namespace motley
